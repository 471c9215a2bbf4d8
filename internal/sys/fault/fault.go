// Package fault decides what a panic looks like from outside.
//
// Go ends a program that panics with exit code 2, which means wrong usage here, and
// prints the panic's value, which may hold a number or a text of a private record. A
// command calls [Handle] to do something else. That works in every goroutine that defers
// [Watch], as all of ours do: a test looks at each.
package fault

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
)

var handler atomic.Pointer[func(where string)]

// Handle sets what is done about panics: the function is called with the place in the
// program, and should end it. Without one, panics end the program as Go does.
func Handle(f func(where string)) { handler.Store(&f) }

// Watch hands a panic to the handler, if there is one. It has to be deferred itself, at
// the beginning of a goroutine.
func Watch() {
	f := handler.Load()
	if f == nil {
		return
	}
	if recover() != nil { // its value may be content
		(*f)(Where())
	}
}

// Where is the place of the panic: the first of our functions below the runtime's.
func Where() string {
	var at [64]uintptr
	frames := runtime.CallersFrames(at[:runtime.Callers(0, at[:])])
	panicked := false
	for {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s, %s:%d", f.Function, path.Base(f.File), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

// Recover is for goroutines whose fault need not end the program: it is told the place of a panic, and
// not its value. Defer it.
func Recover(f func(where string)) {
	if recover() != nil { // its value may be content
		f(Where())
	}
}
