// Package count releases noisy numbers about private records: how many units each part
// has, and which labels enough units have.
//
// A unit of privacy is counted once. Package record puts every
// unit into at most one part, and counts it under one label, chosen by a keyed hash
// from the unit's own records. So a unit more or less changes one count by one, and
// noise of scale 1/ε hides it.
//
// [Sizes] knows the list of parts beforehand and counts all of them, empty ones too:
// the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006). [Labels] finds the list
// in the data, where that a label exists at all is private: it releases only labels
// whose noisy count passes a threshold that a single unit passes with probability at
// most δ (Korolova, Kenthapadi, Mishra, Ntoulas 2009). Each has its proof at its
// comment.
//
// The events hold under both adjacencies: they are parallel over parts or labels, and
// an exchanged unit touches at most two of them.
package count
