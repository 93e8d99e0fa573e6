// Package why tells in sentences what brought a session to where it is: what began it, what made it go on, go back, wait,
// fail or end, and what can be done next.
//
// A [Chain] takes the events of a session one by one and keeps the few that led somewhere; what repeats is one [Link]. [Of]
// puts the newest word first, from the session's status. The package reads no file and knows no clock.
package why
