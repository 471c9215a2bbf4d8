package decode

import "github.com/sotto-dp/sotto/internal/method"

// gainSetting and centreSetting are settings of clipped, and of what is built on it.
func gainSetting(otherwise string) method.Setting {
	return method.Setting{Name: "gain", Type: method.Float, Help: "how much what records say counts; 1 is their mean", Default: otherwise}
}

func centreSetting(otherwise string) method.Setting {
	return method.Setting{
		Name: "centre", Type: method.Choice, Help: "how a record's differences are centred before they are clipped: median, mid-range or none",
		Choices: []string{string(Median), string(MidRange), string(Uncentred)}, Default: otherwise,
	}
}

// SoftSettings returns the settings of votes that clip differences as [Clipped] does.
func SoftSettings() []method.Setting {
	return []method.Setting{method.Temperature("so that a prompt counts 4 nats"), gainSetting("1"), centreSetting("median")}
}
