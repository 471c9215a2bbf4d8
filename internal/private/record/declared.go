package record

import (
	"fmt"
	"strings"
)

// Declared compares the declared number of units of each part with how many there are, and
// says in words what is far off; "" if nothing is. A size that is much too large has next
// to nobody drawn: the budget is charged, and what comes out is what the model writes by
// itself.
//
// What it says depends on the records. It is for the one who runs the program and has the
// records anyway, at once and before anything is charged: never for a file or a result.
// It names factors and no numbers, so that what is copied from a screen reveals little.
func (d *Data) Declared(sizes []int64) string {
	if len(sizes) != d.Parts() {
		return ""
	}
	var declared, there int64
	var few []string
	for part, size := range sizes {
		declared += size
		there += d.x.Units[part]
		if labels := d.Labels(); beyond(size, d.x.Units[part]) > 0 && part < len(labels) {
			few = append(few, fmt.Sprintf("%q", labels[part]))
		}
	}
	what := "records"
	if d.o.Unit != "" {
		what = fmt.Sprintf("values of %q", d.o.Unit)
	}
	if by := beyond(declared, there); by > 0 {
		return fmt.Sprintf("CHECK THE SIZE: %d %s are declared, and the data has less than 1/%d of that. Next to none is drawn, all of ε is charged, and what comes out is model-generated in effect. Declare the right number (--size), or have it counted (--size auto)", declared, what, by)
	}
	if by := beyond(there, declared); by > 0 {
		return fmt.Sprintf("check the size: %d %s are declared, and the data has more than %d times as many. More are drawn than planned, which takes longer; the right number (--size) gives more for the same ε", declared, what, by)
	}
	if len(few) > 0 {
		return fmt.Sprintf("check the sizes of labels: of %s the data has less than 1/%d of the %s that are declared, or assumed because labels share the size evenly. Texts for them are model-generated in effect. Declare how many each has (--label-size)", strings.Join(few, ", "), minFactor, what)
	}
	return ""
}

// minFactor is the smallest factor that a size is off by before it is reported.
const minFactor = 3

// beyond is a factor by which a is larger than b, rounded down to 3 or a power of ten; 0 if
// it is not that much larger.
func beyond(a, b int64) int64 {
	for _, by := range []int64{1000, 100, 10, minFactor} {
		if float64(a) > float64(by)*float64(b) {
			return by
		}
	}
	return 0
}
