package schema

// Infer starts a schema from the names and kinds of columns, as a header or the catalogue
// of a database has them. What else a schema needs is knowledge about the subject, and is
// left to be filled in: it must not be looked up in private rows. [Schema.Skeleton] writes
// it out. A column without a kind is categorical.
func Infer(names []string, kinds []Kind) Schema {
	var s Schema
	for i, name := range names {
		c := Column{Name: name, Kind: Categorical}
		if i < len(kinds) && kinds[i] == Numeric {
			c.Kind = Numeric
		}
		s.Columns = append(s.Columns, c)
	}
	return s
}
