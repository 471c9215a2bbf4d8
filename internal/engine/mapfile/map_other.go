//go:build !unix && !windows

package mapfile

import (
	"io"
	"os"
)

func load(file *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(file, data)
	return data, err
}

func release([]byte) error { return nil }

func unload([]byte) error { return nil }
