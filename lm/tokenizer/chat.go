package tokenizer

type layout struct{ marks []string }

func layoutOf(string) *layout { return nil }
