package ensemble

import (
	"strconv"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/prompt"
)

// Work is what one answer asks of the model.
type Work struct {
	// Looks is how often all prompts are read, each time for a draw of its own.
	Looks int
	// Writes means that prompts write their answers; Public answers are written beside them.
	Writes bool
	Public int
	// ContentFree is how many questions without content each prompt is asked.
	ContentFree int
}

const (
	// writers are the records that are drawn where a sentence has to be written.
	writers = 32
	// publicAnswers is how many answers without records there are to choose from.
	publicAnswers = 40
)

// drawSettings say how many records are drawn for an answer.
func drawSettings(batch int) []method.Setting {
	return append([]method.Setting{method.Batch(strconv.Itoa(batch))}, method.Prompts("prompts for an answer", "one for each record", "1")...)
}

// publicSetting is how many answers without records there are to choose from.
func publicSetting() method.Setting {
	return method.Setting{Name: "candidates", Type: method.Int, Help: "choose among so many public answers", Default: strconv.Itoa(publicAnswers), Min: 2}
}

// uncalibratedSetting is about labels' scores.
func uncalibratedSetting() method.Setting {
	return method.Setting{Name: "uncalibrated", Type: method.Bool, Help: "take labels' scores as they are, without calibration by contents that say nothing"}
}

// asking is the work of one look in which prompts are asked for the labels' scores.
func asking(calibrate bool) Work {
	w := Work{Looks: 1}
	if calibrate {
		w.ContentFree = len(prompt.ContentFree())
	}
	return w
}

// drawn draws a record for each of so many prompts, or as the settings say.
func drawn(a method.Ask, per scheme.Per, prompts int) (scheme.Scheme, error) {
	if a.Values.Has("batch") && (a.Values.Has("prompts") || a.Values.Has("per_prompt")) {
		return scheme.Scheme{}, method.Wrong("a batch has a record in each prompt: give it, or a number of prompts and of records in each, not both")
	}
	prompts = a.Values.Int("prompts", a.Values.Int("batch", int(min(int64(prompts), a.Size))))
	each := a.Values.Int("per_prompt", 1)
	if each == 1 {
		each = 0 // a prompt of its own for each record, however many are drawn
	}
	return a.Draw(per, prompts, each)
}

// calibrate is [method.Calibrate], after a check of what does not depend on the number.
func calibrate[M Method](a method.Ask, build func(x float64) M) (M, error) {
	if err := build(1).Check(); err != nil {
		var none M
		return none, method.Wrong("%v", err)
	}
	return method.Calibrate(a, build)
}
