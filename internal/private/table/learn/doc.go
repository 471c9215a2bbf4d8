// Package learn makes naive Bayes of released profiles of tables: "sotto predict" is made of it.
package learn
