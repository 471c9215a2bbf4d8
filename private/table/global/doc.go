// Package global makes profiles of private tables.
package global
