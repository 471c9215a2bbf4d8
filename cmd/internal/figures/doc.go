// Package figures draws what things cost: ε of an event, model tokens of methods, ε of many
// answers, and errors of a table's statistics.
package figures
