//go:build race

package tokenizer_test

const raceDetector = true
