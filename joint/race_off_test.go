//go:build !race

package joint

const raceDetector = false
