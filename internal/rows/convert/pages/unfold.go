package pages

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/parquet-go/parquet-go/format"
)

// content checks how much a page between two places of the file unfolds to. The library
// does not hold it against the size in the page's head.
func (k *chunk) content(h *format.PageHeader, from, to int64) error {
	if v := h.DataPageHeaderV2; v.Valid {
		// Levels come first, and are not compressed.
		from += int64(v.V.RepetitionLevelsByteLength) + int64(v.V.DefinitionLevelsByteLength)
		if v.V.IsCompressed.Valid && !v.V.IsCompressed.V {
			return nil
		}
	}
	if from == to {
		return nil
	}
	in := io.NewSectionReader(k.r, from, to-from)
	switch k.of.Codec {
	case format.Snappy:
		return snappySize(in)
	case format.Zstd:
		return zstdSize(k.r, from, to)
	case format.Gzip:
		if (to-from)*deflateRatio <= Largest {
			return nil
		}
		z, err := gzip.NewReader(bufio.NewReader(in))
		if err != nil {
			return ErrRefused
		}
		return count(z)
	case format.Brotli:
		return count(brotli.NewReader(in))
	}
	return nil
}

// deflateRatio is more than DEFLATE unfolds a byte to: 258 bytes take two bits.
const deflateRatio = 1032

// count unfolds a page and keeps nothing of it.
func count(r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, Largest+1))
	if err != nil || n > Largest {
		return ErrRefused
	}
	return nil
}

// snappySize reads the size that a block of Snappy begins with, which is what it takes.
func snappySize(in io.Reader) error {
	head := make([]byte, binary.MaxVarintLen64)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if size, ok := binary.Uvarint(head[:n]); ok <= 0 || size > Largest {
		return ErrRefused
	}
	return nil
}

// largestBlock is the most that a compressed block of Zstandard unfolds to (RFC 8878,
// 3.1.1.2.4).
const largestBlock = 128 << 10

// zstdSize goes from block to block of Zstandard's frames and adds up what each unfolds
// to at most.
func zstdSize(r io.ReaderAt, at, end int64) error {
	total := int64(0)
	var head [18]byte
	for at < end {
		n := min(int64(len(head)), end-at)
		if err := readAll(r, head[:n], at); err != nil {
			return err
		}
		skip, frame := zstdHead(head[:n])
		if at += skip; skip == 0 || at > end {
			return ErrRefused
		}
		for last := !frame; !last; {
			var block [3]byte
			if end-at < int64(len(block)) {
				return ErrRefused
			}
			if err := readAll(r, block[:], at); err != nil {
				return err
			}
			v := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
			size := v >> 3
			last = v&1 != 0
			at += 3
			switch v >> 1 & 3 {
			case 0: // as it is
				total, at = total+size, at+size
			case 1: // one byte, repeated
				total, at = total+size, at+1
			case 2:
				total, at = total+largestBlock, at+size
			default:
				return ErrRefused
			}
			if at > end || total > Largest {
				return ErrRefused
			}
		}
		if frame && head[4]&4 != 0 {
			at += 4 // a checksum
		}
	}
	if at != end {
		return ErrRefused
	}
	return nil
}

// zstdHead returns the length of a frame's head, or of a whole frame that is skipped, and
// whether blocks follow; 0 where there is none.
func zstdHead(b []byte) (length int64, frame bool) {
	if len(b) < 6 {
		return 0, false
	}
	magic := binary.LittleEndian.Uint32(b)
	if magic&^0xf == 0x184d2a50 {
		if len(b) < 8 {
			return 0, false
		}
		return 8 + int64(binary.LittleEndian.Uint32(b[4:])), false
	}
	if magic != 0xfd2fb528 {
		return 0, false
	}
	length = 5
	single := b[4]&0x20 != 0
	if !single {
		length++ // the window
	}
	length += []int64{0, 1, 2, 4}[b[4]&3] // the dictionary
	switch b[4] >> 6 {                    // the content's size
	case 0:
		if single {
			length++
		}
	case 1:
		length += 2
	case 2:
		length += 4
	case 3:
		length += 8
	}
	return length, true
}
