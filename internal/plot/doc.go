// Package plot draws lines and measured values as SVG.
//
// A [Figure] is a value that says what is shown, and
// [Figure.WriteSVG] lays it out. The same figure always gives the same bytes,
// so that a plot can be compared and kept under version control. The output is
// a document of its own, or a fragment for a page: no scripts, no external fonts or
// style sheets.
package plot
