package workspace

// changedAtIsSetByFiles: a file that was given an old time looks old.
const changedAtIsSetByFiles = false
