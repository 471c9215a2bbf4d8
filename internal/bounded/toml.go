package bounded

import "bytes"

// TOML checks TOML text. Its depth is that of the longest path of keys and lists: of a
// table's header, of dotted keys, and of inline tables and lists. Up to the first
// mistake, where decoders stop, it reads strings, comments and keys as TOML does; of text
// after that it promises nothing.
func TOML(data []byte, largest int64) error {
	if int64(len(data)) > largest {
		return tooLarge(largest)
	}
	s := tomlScanner{data: data, line: 1}
	return s.scan()
}

// tomlScanner keeps how deep the present place is.
type tomlScanner struct {
	data []byte
	line int
	// table is the depth of the last header, so far while inHeader.
	table    int
	inHeader bool
	// dots counts those of the present key: between delimiters. A number's dot counts
	// as one too, which is harmless.
	dots int
	// value: an equals sign came, so that a bracket opens a list and not a header.
	value bool
	// open holds, for each list or inline table, the depth outside it.
	open  [Depth + 1]int
	level int
	// depth of the innermost list or inline table.
	depth int
}

func (s *tomlScanner) scan() error {
	for i := 0; i < len(s.data); {
		switch c := s.data[i]; c {
		case '"', '\'':
			i = s.skipString(i)
			continue
		case '#':
			if end := bytes.IndexByte(s.data[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(s.data)
			}
			continue
		case '\n':
			s.line++
			if s.dots = 0; s.level == 0 {
				s.value, s.inHeader = false, false
			}
		case '.':
			if s.inHeader {
				s.table++
			} else {
				s.dots++
			}
		case '=':
			s.value = true
		case ',':
			s.dots = 0
		case '[', '{':
			s.opened(c)
		case ']', '}':
			s.closed()
		}
		if s.table+s.depth+s.dots > Depth {
			return tooDeep(s.line)
		}
		i++
	}
	return nil
}

// opened enters a header, a list or an inline table.
func (s *tomlScanner) opened(c byte) {
	if c == '[' && s.level == 0 && !s.value {
		s.table, s.inHeader, s.dots = 1, true, 0
		return
	}
	if s.level < len(s.open) { // else the depth is too large already
		s.open[s.level] = s.depth
	}
	s.level++
	s.depth += 1 + s.dots
	s.dots = 0
}

func (s *tomlScanner) closed() {
	s.dots = 0
	if s.level == 0 {
		s.inHeader = false
		return
	}
	s.level--
	s.depth = s.open[s.level]
}

// skipString returns where the string that begins at i ends.
func (s *tomlScanner) skipString(i int) int {
	quote := s.data[i]
	if n := len(s.data); i+2 < n && s.data[i+1] == quote && s.data[i+2] == quote {
		return s.skipLines(i+3, quote)
	}
	for i++; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == quote:
			return i + 1
		case c == '\\' && quote == '"':
			i++
		case c == '\n':
			return i // a mistake: decoders stop here
		}
	}
	return i
}

// skipLines returns where a string of many lines ends: at three quotes, and up to two
// more belong to it.
func (s *tomlScanner) skipLines(i int, quote byte) int {
	for run := 0; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == quote:
			if run++; run < 3 {
				continue
			}
			for i++; run < 5 && i < len(s.data) && s.data[i] == quote; i++ {
				run++
			}
			return i
		case c == '\\' && quote == '"':
			if i++; i < len(s.data) && s.data[i] == '\n' {
				s.line++
			}
		case c == '\n':
			s.line++
		}
		run = 0
	}
	return i
}
