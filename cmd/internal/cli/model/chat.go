package model

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/sys/fault"
)

type chatOptions struct {
	flags.Model
	system      string
	maxTokens   int
	temperature float64
	topP        float64
	seed        uint64
}

func newChatCommand(p *cli.Program) *cobra.Command {
	var opt chatOptions
	cmd := &cobra.Command{
		Use:   "chat [MESSAGE]",
		Short: "Talk to a model",
		Long: `Talks to a model, to see that it is alive. With a message it answers that and
ends. Without, every line of standard input is a message; on a terminal /reset
forgets what was said, and /quit or Ctrl-D ends. Ctrl-C ends an answer, and
between answers the program.

Nothing here is private: what you type goes to the model as it is.

` + flags.ModelHelp + ui.JSONKeys(chatResult{}),
		Example: `  sotto chat
  sotto chat 'Name three rivers.' --temperature 0
  sotto chat --url http://127.0.0.1:8000`,
		Args: cli.UpTo("MESSAGE"),
		RunE: func(cmd *cobra.Command, args []string) error { return runChat(cmd, p, args, opt) },
	}
	opt.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&opt.system, "system", "", "the `TEXT` that instructs the model (default: that of the model)")
	f.IntVar(&opt.maxTokens, "max-tokens", 512, "end an answer after this many tokens")
	f.Float64Var(&opt.temperature, "temperature", 0.2, "0 always takes the likeliest token, 1 draws as the model says")
	f.Float64Var(&opt.topP, "top-p", 0.9, "draw from the likeliest tokens that have this probability together")
	f.Uint64Var(&opt.seed, "seed", 0, "draw the same again (default: another each time)")
	return cmd
}

type chatResult struct {
	Model    string       `json:"model"`
	Backend  string       `json:"backend"`
	Messages []lm.Message `json:"messages"`
	// Tokens that the model wrote.
	Tokens int `json:"tokens"`
}

// print: the conversation was shown while it continued.
func (r *chatResult) Print(*ui.Page) {}

func runChat(cmd *cobra.Command, p *cli.Program, args []string, opt chatOptions) error {
	options := lm.GenerateOptions{MaxTokens: opt.maxTokens, Temperature: opt.temperature, TopP: opt.topP, Seed: opt.seed}
	if err := options.Check(); err != nil {
		return ui.AsUsage(err)
	}
	if !cmd.Flags().Changed("seed") {
		var seed [8]byte
		_, _ = rand.Read(seed[:]) // never fails
		options.Seed = binary.LittleEndian.Uint64(seed[:])
	}
	spec, err := p.ModelSpec(opt.Model)
	if err != nil {
		return err
	}
	model, err := backend.Open(cmd.Context(), spec)
	if err != nil {
		return err
	}
	defer model.Close()
	c := &conversation{program: p, model: model, options: options, system: opt.system}
	c.reset()
	switch {
	case len(args) > 0:
		err = c.answer(cmd.Context(), args[0])
	case p.Keyboard && !p.JSON:
		c.greet(spec)
		err = c.talk(cmd.Context())
	default:
		err = c.lines(cmd.Context())
	}
	if err != nil {
		return err
	}
	info := model.Info()
	return p.Emit(&chatResult{flags.ModelName(spec, info), info.Backend, c.messages, c.tokens})
}

// conversation is what was said so far.
type conversation struct {
	program  *cli.Program
	model    lm.Model
	options  lm.GenerateOptions
	system   string
	messages []lm.Message
	tokens   int
}

func (c *conversation) reset() {
	c.messages = nil
	if c.system != "" {
		c.messages = []lm.Message{{Role: lm.System, Content: c.system}}
	}
}

func (c *conversation) greet(spec backend.Spec) {
	where := "runs inside this program; nothing leaves this machine"
	if spec.Remote() {
		where = "runs at " + config.Redact(spec.URL) + "; what you type is sent there"
	}
	fmt.Fprintf(c.program.Stderr, "%s %s.\nType a message and press Enter; /help lists commands.\n\n", flags.ModelName(spec, c.model.Info()), where)
}

// answer adds a message and the model's answer, which is shown as it comes.
func (c *conversation) answer(ctx context.Context, message string) error {
	c.messages = append(c.messages, lm.Message{Role: lm.User, Content: message})
	options := c.options
	var said strings.Builder
	options.OnText = func(_ int, piece string) error {
		said.WriteString(piece)
		if c.program.JSON {
			return nil
		}
		return c.program.Write([]byte(piece))
	}
	texts, err := c.generate(ctx, options)
	if !c.program.JSON && (err == nil || said.Len() > 0) {
		if failed := c.program.Write([]byte("\n")); err == nil {
			err = failed
		}
	}
	if err != nil && ctx.Err() != nil && said.Len() > 0 {
		// Cut off by the reader, who saw this much.
		c.messages = append(c.messages, lm.Message{Role: lm.Assistant, Content: said.String()})
		return err
	}
	if err != nil {
		c.messages = c.messages[:len(c.messages)-1]
		return err
	}
	c.tokens += texts[0].Tokens
	c.messages = append(c.messages, lm.Message{Role: lm.Assistant, Content: texts[0].Text})
	if texts[0].Finish == lm.FinishLength {
		fmt.Fprintf(c.program.Stderr, "(cut off after %d tokens; --max-tokens allows more)\n", texts[0].Tokens)
	}
	return nil
}

// generate forgets the oldest exchanges when all no longer fits the model.
func (c *conversation) generate(ctx context.Context, options lm.GenerateOptions) ([]lm.Text, error) {
	for {
		texts, err := c.model.Generate(ctx, []lm.Prompt{{Messages: c.messages}}, options)
		var long *lm.ContextError
		if !errors.As(err, &long) {
			return texts, err
		}
		first := 0
		if c.system != "" {
			first = 1
		}
		if len(c.messages) < first+3 {
			return nil, err
		}
		fmt.Fprintln(c.program.Stderr, "(the conversation is longer than the model takes: its beginning is forgotten)")
		c.messages = append(c.messages[:first:first], c.messages[first+2:]...)
	}
}

// lines answers each line of standard input.
func (c *conversation) lines(ctx context.Context) error {
	in := bufio.NewReader(c.program.Stdin)
	for {
		line, err := in.ReadString('\n')
		if message := strings.TrimSpace(line); message == "/quit" {
			return nil
		} else if message != "" {
			if err := c.answer(ctx, message); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
	}
}

const chatHelp = `  /reset  forget what was said
  /quit   end, as does Ctrl-D; Ctrl-C ends an answer
`

// talk is a conversation on a terminal.
func (c *conversation) talk(ctx context.Context) error {
	// Ctrl-C must not end the program while an answer is being written, so the
	// signals are taken here and not from the context.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx = context.WithoutCancel(ctx)
	typed := make(chan string)
	go func() {
		defer fault.Watch()
		defer close(typed)
		for in := bufio.NewScanner(c.program.Stdin); in.Scan(); {
			typed <- in.Text()
		}
	}()
	for {
		fmt.Fprint(c.program.Stderr, "> ")
		var message string
		select {
		case line, ok := <-typed:
			if !ok {
				fmt.Fprintln(c.program.Stderr)
				return nil
			}
			message = strings.TrimSpace(line)
		case <-signals:
			fmt.Fprintln(c.program.Stderr)
			return nil
		}
		switch {
		case message == "":
		case message == "/quit", message == "/exit":
			return nil
		case message == "/reset":
			c.reset()
		case strings.HasPrefix(message, "/"):
			fmt.Fprint(c.program.Stderr, chatHelp)
		default:
			if over := c.exchange(ctx, message, signals); over {
				return nil
			}
		}
	}
}

// exchange answers a message, unless a signal comes. What goes wrong with one
// message does not end the conversation.
func (c *conversation) exchange(ctx context.Context, message string, signals <-chan os.Signal) (over bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer fault.Watch()
		done <- c.answer(ctx, message)
	}()
	var err error
	select {
	case err = <-done:
	case s := <-signals:
		cancel()
		if err = <-done; errors.Is(err, context.Canceled) {
			err = nil
		}
		over = s != os.Interrupt
	}
	if err != nil {
		fmt.Fprintf(c.program.Stderr, "sotto: %v\n", err)
	}
	fmt.Fprintln(c.program.Stderr)
	return over
}
