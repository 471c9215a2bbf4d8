package suite

// Dir is the folder that paths of a suite begin at.
func Dir(s Suite) string { return s.dir }
