// Package serve runs the service: the gateway for clients, and beside it an address for those
// who look after it.
//
// A process has no state that counts. Keys and routes are in a store (package
// store), budgets in the ledger; what a process holds is a copy that it renews when the store
// says that something changed. So processes can be many, and can be killed. (What
// a client may ask for again by its own name for a request is kept by the process that answered it.)
package serve
