// Package keys holds the secrets of a private folder: the key by which data sets, units and rows are known again, and
// that of encrypted files.
package keys
