// Package gateway is OpenAI's API with private examples behind it.
//
// A request goes to its upstream as it came, except for what a route adds. A
// [Route] is a model name that clients use. It stands for an upstream model and a release,
// whose instruction and examples become the first turns of the conversation: they were
// released and paid for, so that any upstream may see them, however often. Members of a request
// or an answer that the gateway does not know pass through.
//
// A route can also answer from private records ([Private]): each answer is paid for before a record
// is read, by the one who implements [Answerer], and is handed out at a pace that does not show how long
// it took.
//
// Routes are looked up in a [Table], which is exchanged as a whole. A request keeps the one it
// began with, so that nothing is dropped when routes change.
//
// Errors have OpenAI's shape, and hold nothing of a request: see [Error].
package gateway
