//go:build !race

package beam

const slow = false
