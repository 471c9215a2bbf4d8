package rouge

// words of a text: runs of the letters a to z and of digits, in lower case.
func (o Options) words(text string) []string {
	var words []string
	var word []byte
	end := func() {
		if len(word) > 0 {
			w := string(word)
			if o.Stem && len(w) > 3 {
				w = Stem(w)
			}
			words = append(words, w)
			word = word[:0]
		}
	}
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			word = append(word, byte(r))
		case 'A' <= r && r <= 'Z':
			word = append(word, byte(r-'A'+'a'))
		// Two more code points become one of these letters in lower case: the sign for
		// kelvins, and the capital i with a dot, whose dot is then a character of its own.
		case r == '\u212a':
			word = append(word, 'k')
		case r == '\u0130':
			word = append(word, 'i')
			end()
		default:
			end()
		}
	}
	end()
	return words
}
