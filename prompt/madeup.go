package prompt

// MadeUpPrompts shows the task's prompts with one demonstration each. The values are
// words about themselves: no record is read.
func (t Task) MadeUpPrompts() (generation, answer string) {
	conditions := t.Labels
	if t.Open() {
		conditions = t.Conditions
	}
	condition := func(i int) string {
		if i < len(conditions) {
			return conditions[i]
		}
		return []string{"a made-up condition", "another one"}[i]
	}
	const text, other = "This is a made-up text.", "This is another made-up text."
	generation = t.GenerationPrefix() + t.GenerationDemo(condition(0), text) + t.GenerationHead(condition(1))
	if t.Kind == Generate {
		return generation, t.AnswerPrefix() + t.AnswerDemo(condition(0), text) + t.AnswerItem(condition(1))
	}
	return generation, t.AnswerPrefix() + t.AnswerDemo(text, condition(0)) + t.AnswerItem(other)
}
