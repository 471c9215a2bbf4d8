package cli

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
)

// answerMethods are those that answer questions.
func answerMethods() []string {
	list := method.List(method.Texts, method.Answers)
	return method.Names(slices.DeleteFunc(list, func(s method.Spec) bool { return s.Copies || s.Of != "" }))
}

// MethodChoose is how --method calls having the records choose.
const MethodChoose = plan.Chooses
