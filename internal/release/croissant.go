package release

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// croissantFile describes the examples to programs.
const croissantFile = "croissant.json"

// croissantContext are the names that a description in Croissant 1.0 uses, as its
// specification lists them.
var croissantContext = object{
	{"@language", "en"},
	{"@vocab", "https://schema.org/"},
	{"citeAs", "cr:citeAs"},
	{"column", "cr:column"},
	{"conformsTo", "dct:conformsTo"},
	{"cr", "http://mlcommons.org/croissant/"},
	{"rai", "http://mlcommons.org/croissant/RAI/"},
	{"data", object{{"@id", "cr:data"}, {"@type", "@json"}}},
	{"dataType", object{{"@id", "cr:dataType"}, {"@type", "@vocab"}}},
	{"dct", "http://purl.org/dc/terms/"},
	{"equivalentProperty", "cr:equivalentProperty"},
	{"examples", object{{"@id", "cr:examples"}, {"@type", "@json"}}},
	{"extract", "cr:extract"},
	{"field", "cr:field"},
	{"fileProperty", "cr:fileProperty"},
	{"fileObject", "cr:fileObject"},
	{"fileSet", "cr:fileSet"},
	{"format", "cr:format"},
	{"includes", "cr:includes"},
	{"isLiveDataset", "cr:isLiveDataset"},
	{"jsonPath", "cr:jsonPath"},
	{"key", "cr:key"},
	{"md5", "cr:md5"},
	{"parentField", "cr:parentField"},
	{"path", "cr:path"},
	{"recordSet", "cr:recordSet"},
	{"references", "cr:references"},
	{"regex", "cr:regex"},
	{"repeated", "cr:repeated"},
	{"replace", "cr:replace"},
	{"samplingRate", "cr:samplingRate"},
	{"sc", "https://schema.org/"},
	{"separator", "cr:separator"},
	{"source", "cr:source"},
	{"subField", "cr:subField"},
	{"transform", "cr:transform"},
}

// croissant describes demos.jsonl for programs that look for data sets (MLCommons'
// Croissant 1.0), with what is guaranteed as its vocabulary of responsible AI has it. The
// licence, the date and the address are for the one who publishes it.
func croissant(r Release) ([]byte, error) {
	data, err := demos(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	input, output := columns(r.Task)
	inputName, outputName := fields(r.Task)
	field := func(name, column, about string) object {
		return object{
			{"@type", "cr:Field"},
			{"@id", "examples/" + name},
			{"name", name},
			{"description", about},
			{"dataType", "sc:Text"},
			{"source", object{{"fileObject", object{{"@id", "demos.jsonl"}}}, {"extract", object{{"column", column}}}}},
		}
	}
	var limits []string
	for _, l := range r.limits() {
		limits = append(limits, "What this is not: "+l)
	}
	about, guarantee := r.summary(), strings.Join(r.Words, " ")
	if r.NotPrivate() {
		guarantee = Mark + ": " + r.why() + "."
		about = guarantee + " " + about
	} else if r.signed() {
		guarantee += " certificate.json beside this file has it signed."
	}
	return encodeFile(r.mark(object{
		{"@context", croissantContext},
		{"@type", "sc:Dataset"},
		{"name", r.title()},
		{"description", about},
		{"conformsTo", []string{"http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"}},
		{"keywords", r.tags()},
		{"rai:personalSensitiveInformation", guarantee},
		{"rai:dataLimitations", limits},
		{"distribution", []object{{
			{"@type", "cr:FileObject"},
			{"@id", "demos.jsonl"},
			{"name", "demos.jsonl"},
			{"description", "the examples, a line each"},
			{"contentUrl", "demos.jsonl"},
			{"encodingFormat", "application/jsonlines"},
			{"sha256", hex.EncodeToString(sum[:])},
		}}},
		{"recordSet", []object{{
			{"@type", "cr:RecordSet"},
			{"@id", "examples"},
			{"name", "examples"},
			{"description", "questions with their answers"},
			{"field", []object{
				field(inputName, input, "the question"),
				field(outputName, output, "its answer"),
			}},
		}}},
	}))
}
