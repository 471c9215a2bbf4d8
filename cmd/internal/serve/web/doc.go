// Package web is the service's dashboard: what was released, from which data, at what price, and
// who decided so.
//
// A page shows what is public already, so that nothing here has to be kept from
// anyone who may sign in. Pages are made of the store, the ledger and the certificates of releases;
// none of them holds a record, and where records are is left out. What a role decides about is
// what it may change, and that is one table ([Dashboard] has no other way in): a route names the
// lowest role that may use it, and a route without one is for signing in.
//
// A page is a file with its routes, a template of the same name, and a line of the navigation.
// Pages need no script; the one there is keeps them up to date.
package web
