package plugintest

import "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"

// Exchange records what a provider reports and answers its gated calls. The zero value lets every call
// run and stores every checkpoint. Set the fields before the first use; the methods are safe for
// concurrent use.
type Exchange = record.Exchange

// Record is everything that was reported, each list in order of arrival.
type Record = record.Record
