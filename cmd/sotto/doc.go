// Command sotto asks what a mechanism costs in privacy, calibrates noise, keeps
// budgets that no run or race overspends, checks certificates, and runs language models.
//
// The program is a thin layer. Groups of verbs are packages below cmd/internal/cli, and each verb is a file
// there with its options, a function that runs it, and a result. A result is one value that prints either as
// a JSON object or as a table, so both say the same. All that can be wrong about privacy lies in the packages
// they call. Here they are put together.
//
// With --json, standard output holds exactly one JSON object, whether the verb
// succeeds or fails; a failure's object has "error" and "code". Messages for
// people go to standard error.
package main
