package lm

import "context"

// Token is an entry of a model's vocabulary.
type Token int32

// Tokenizer turns text into tokens and back.
//
// Encode reads text as text: the spelling of a control token, such as the mark
// that ends a turn, is encoded as the characters it is made of. So no record can
// forge a control token; they enter prompts by [Scorer.Chat] or by number. (A model
// whose turns are marked by ordinary text, as Llama 2's [INST], has no such shield.)
//
// The context and the errors are for back-ends that tokenise on their server.
type Tokenizer interface {
	// Encode returns the tokens of a text, without marks of beginning or end.
	Encode(ctx context.Context, text string) ([]Token, error)
	// Decode returns the text of tokens. Control tokens have none. Bytes that are
	// not UTF-8 (a token may end within a character) are returned as they are.
	Decode(ctx context.Context, tokens []Token) (string, error)
	// Size returns the number of tokens: they are 0 … Size()-1.
	Size() int
	// Beginning returns the token that a text starts with, if the model needs one.
	Beginning() (Token, bool)
	// Control reports whether a token is a control token rather than text.
	Control(Token) bool
	// Ends returns the tokens after which the model stops: end of text, end of turn.
	Ends() []Token
}

// Role is the speaker of a chat message.
type Role string

// The roles of chat templates.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of a chat.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}
