package web

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	printing "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium is a real browser, and what it complained about.
type chromium struct {
	context.Context
	t    testing.TB
	base string

	mu       sync.Mutex
	problems []string
}

// chromiumPath finds the program, as scripts/install-chromium.sh does.
func chromiumPath() string {
	if path := os.Getenv("SOTTO_TEST_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// newChromium begins a browser, whose windows are the tests'. Without one tests are left out.
func newChromium(t testing.TB) context.Context {
	t.Helper()
	path := chromiumPath()
	if path == "" {
		t.Skip("no Chromium is installed: scripts/install-chromium.sh installs one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("hide-scrollbars", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it does not run as root otherwise
	}
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	first, stop := chromedp.NewContext(allocated)
	t.Cleanup(stop)
	must(t, chromedp.Do(first))
	return first
}

// window opens one with cookies of its own, and notes what its console says.
func (s *site) window(t testing.TB, in context.Context) *chromium {
	t.Helper()
	ctx, cancel := chromedp.NewContext(in, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	limited, end := context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(end)
	c := &chromium{Context: limited, t: t, base: s.server.URL}
	must(t, chromedp.Do(ctx))
	messages := chromedp.Console(limited) // violations of the policy among them
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			c.mu.Lock()
			c.problems = append(c.problems, m.String())
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *chromium) do(actions ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if err := chromedp.Do(c, actions...); err != nil {
		shown, _ := chromedp.Run(c, chromedp.Evaluate[string]("location.href + ' ' + document.body.innerText")) // for the message
		c.t.Fatalf("%v at %.600s", err, shown)
	}
}

// evaluate runs a script in the page.
func evaluate[T any](c *chromium, script string) T {
	c.t.Helper()
	v, err := chromedp.Run(c, chromedp.Evaluate[T](script))
	must(c.t, err)
	return v
}

// saying finds an element by what it says.
func saying(name, says string) chromedp.Search {
	return chromedp.Search(fmt.Sprintf(`//%s[normalize-space(text())=%q]`, name, says))
}

// holding finds a paragraph in a part of the page that holds a text.
func holding(part, text string) chromedp.Search {
	kind, name := "id", part[1:]
	if part[0] == '.' {
		kind = "class"
	}
	return chromedp.Search(fmt.Sprintf(`//*[@%s=%q]//p[contains(., %q)]`, kind, name, text))
}

// quiet fails if the console said anything.
func (c *chromium) quiet(what string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) > 0 {
		c.t.Errorf("%s: %s", what, strings.Join(c.problems, "; "))
	}
	c.problems = nil
}

func (c *chromium) open(path string) {
	c.t.Helper()
	c.do(chromedp.Navigate(c.base+path), chromedp.WaitVisible(chromedp.CSS("h1")))
}

// look sets the size of the window and the colour scheme.
func (c *chromium) look(width, height int64, scheme string) {
	c.t.Helper()
	c.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(c, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	must(c.t, err)
}

// press presses keys, and nothing else.
func (c *chromium) press(keys ...string) {
	c.t.Helper()
	for _, k := range keys {
		c.do(chromedp.KeyEvent(k))
	}
}

// focused is what has the keyboard: its text, or its name.
func (c *chromium) focused() string {
	c.t.Helper()
	return evaluate[string](c, `(e => (e.innerText || e.name || e.tagName).trim())(document.activeElement)`)
}

// tabTo presses the tab key until something has the keyboard.
func (c *chromium) tabTo(what string) {
	c.t.Helper()
	for range 80 {
		c.press(kb.Tab)
		if c.focused() == what {
			return
		}
	}
	c.t.Fatalf("the tab key does not reach %q", what)
}

// signIn signs in by a link and the keyboard.
func (c *chromium) signIn(s *site, name string) {
	c.t.Helper()
	c.open("/sign-in?link=" + s.link(c.t, name))
	if at := c.focused(); at != "Sign in" {
		c.t.Errorf("the keyboard begins at %q", at)
	}
	c.press(kb.Enter)
	c.do(chromedp.WaitVisible(chromedp.CSS("nav")))
}

// picture saves what the window shows, all of the page, if SOTTO_TEST_PICTURES names a folder.
func (c *chromium) picture(name string) {
	c.t.Helper()
	dir := os.Getenv("SOTTO_TEST_PICTURES")
	if dir == "" {
		return
	}
	data, err := chromedp.Run(c, chromedp.FullScreenshot(100))
	must(c.t, err)
	must(c.t, os.MkdirAll(dir, 0o755))
	must(c.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}

// contrast finds visible text whose contrast with what is behind it is below 4.5, as WCAG 2.2
// computes it (1.4.3).
const contrast = `(() => {
  const read = s => { const m = s.match(/[\d.]+/g).map(Number); return {r: m[0], g: m[1], b: m[2], a: m.length > 3 ? m[3] : 1}; };
  const over = (f, b) => ({r: f.r*f.a + b.r*(1-f.a), g: f.g*f.a + b.g*(1-f.a), b: f.b*f.a + b.b*(1-f.a), a: 1});
  const part = v => { v /= 255; return v <= 0.04045 ? v/12.92 : ((v+0.055)/1.055)**2.4; };
  const light = c => 0.2126*part(c.r) + 0.7152*part(c.g) + 0.0722*part(c.b);
  const behind = e => {
    const stack = [];
    for (; e; e = e.parentElement) stack.push(read(getComputedStyle(e).backgroundColor));
    return stack.reverse().reduce((below, c) => over(c, below), {r: 255, g: 255, b: 255, a: 1});
  };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    if (e.closest("title, desc, option, meter, progress, .hidden")) continue;
    const style = getComputedStyle(e), back = behind(e);
    const colour = over(read(e.closest("svg") ? style.fill : style.color), back);
    const [a, b] = [light(colour), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(walk.currentNode.textContent.trim().slice(0, 40) + " " + ratio.toFixed(2) + " " + style.color);
  }
  return bad;
})()`

// wide names what is wider than the window.
const wide = `(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const beyond = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 0.5);
  return ["the page is " + root.scrollWidth + " wide", ...beyond.map(e => e.tagName + "." + e.className).slice(0, 8)];
})()`

// labels names what a person who listens to a page would not: fields without a label, headers without a
// scope, pages without landmarks.
const labels = `(() => {
  const bad = [];
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (e.labels.length === 0) bad.push("field " + e.name);
  for (const e of document.querySelectorAll("th:not([scope])")) bad.push("header " + e.innerText);
  for (const e of document.querySelectorAll("button, a")) if (!e.innerText.trim() && !e.hidden) bad.push("nameless " + e.outerHTML);
  for (const e of document.querySelectorAll("svg")) if (!e.querySelector("title")) bad.push("plot without a title");
  for (const s of ["main", "header", "footer", "a.skip", "h1", "title"]) if (!document.querySelector(s)) bad.push("no " + s);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) bad.push("twice " + id);
  return bad;
})()`

func (c *chromium) none(what, script string) {
	c.t.Helper()
	if found := evaluate[[]string](c, script); len(found) > 0 {
		c.t.Errorf("%s: %s", what, strings.Join(found, "; "))
	}
}

// TestPlainPagesInChromium: every page, on a phone and on a desk, in light and in dark, has text that can be read, fits the
// window, names what it has, and gives the browser nothing to complain about.
func TestPlainPagesInChromium(t *testing.T) {
	in := newChromium(t)
	s := newSite(t, nil)
	s.ask(t, "0.5")
	c := s.window(t, in)
	pages := map[string]string{
		"overview": "/", "data-sets": "/data-sets", "data-set": "/data-sets/tickets", "certificates": "/certificates", "certificate": "/certificates/tickets",
		"routes": "/routes", "keys": "/keys", "data-protection": "/data-protection", "audit": "/audit", "playground": "/playground",
	}
	for _, size := range [][2]int64{{360, 740}, {1280, 800}} {
		for _, scheme := range []string{"light", "dark"} {
			c.look(size[0], size[1], scheme)
			check := func(name string) {
				t.Helper()
				what := fmt.Sprintf("%s-%d-%s", name, size[0], scheme)
				c.none(what+", contrast", contrast)
				c.none(what+", width", wide)
				c.none(what+", labels", labels)
				c.picture(what)
				c.quiet(what)
			}
			if size[0] == 360 && scheme == "light" {
				c.open("/sign-in")
				check("sign-in")
				c.signIn(s, "owner-one")
			}
			for name, path := range pages {
				c.open(path)
				evaluate[int](c, `document.querySelectorAll("details").forEach(e => { e.open = true }), 0`)
				check(name)
			}
		}
	}
}

// TestPlainReportInChromium: the report of a release can be read on a phone and on a desk, and printed: conclusion and facts are on the first page, and what is folded is on paper too.
func TestPlainReportInChromium(t *testing.T) {
	in := newChromium(t)
	s := newSite(t, nil)
	c := s.window(t, in)
	c.signIn(s, "viewer-one")
	for width, scheme := range map[int64]string{360: "light", 1280: "dark"} {
		c.look(width, 800, scheme)
		c.open("/certificates/tickets/report")
		what := fmt.Sprintf("report-%d-%s", width, scheme)
		c.none(what+", contrast", contrast)
		c.none(what+", width", wide)
		c.picture(what)
		c.quiet(what)
	}
	if shown := evaluate[bool](c, `document.querySelector("details pre").checkVisibility({contentVisibilityAuto: true})`); shown {
		t.Error("the event is not folded away on the screen")
	}
	// Between the margins a sheet of A4 is 176 by 261 mm, which are 665 by 986 pixels.
	c.do(chromedp.EmulateViewport(665, 986))
	_, err := chromedp.Call(c, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	must(t, err)
	if end := evaluate[float64](c, `document.querySelector(".glance").getBoundingClientRect().bottom`); end > 986 {
		t.Errorf("conclusion and facts end %v pixels down", end)
	}
	if shown := evaluate[bool](c, `document.querySelector("details pre").checkVisibility({contentVisibilityAuto: true})`); !shown {
		t.Error("the event is not on paper")
	}
	for name, paper := range map[string][2]float64{"A4": {8.27, 11.69}, "Letter": {8.5, 11}} {
		printed, err := chromedp.Call(c, printing.PrintToPDF, printing.PrintToPDFParams{PaperWidth: paper[0], PaperHeight: paper[1]})
		must(t, err)
		if n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(printed.Data, -1)); n < 2 || n > 4 {
			t.Errorf("%s: %d pages", name, n)
		}
	}
}

// TestPlainKeyboardInChromium: somebody without a mouse signs in, skips to the content, sees where they are, asks in the
// playground, and signs out.
func TestPlainKeyboardInChromium(t *testing.T) {
	in := newChromium(t)
	s := newSite(t, nil)
	c := s.window(t, in)
	c.signIn(s, "operator-one")
	c.press(kb.Tab)
	if at := c.focused(); at != "Skip to the content" {
		t.Errorf("the tab key begins at %q", at)
	}
	c.tabTo("Playground")
	if outline := evaluate[string](c, `getComputedStyle(document.activeElement).outlineStyle + " " + getComputedStyle(document.activeElement).outlineWidth`); outline != "solid 3px" {
		t.Errorf("what has the keyboard looks like %q", outline)
	}
	c.press(kb.Enter)
	c.do(chromedp.WaitVisible(saying("h1", "Playground")))
	c.tabTo("question")
	c.press("Where is it?", kb.Tab, kb.Enter)
	c.do(chromedp.WaitVisible(holding(".answer", "examples: true")))
	c.tabTo("Sign out")
	c.press(kb.Enter)
	c.do(chromedp.WaitVisible(saying("h1", "Sign in")))
	c.quiet("by keyboard")
}

// TestPlainGrantInChromium: an operator asks, two owners approve in their own browsers, and the
// budget is raised.
func TestPlainGrantInChromium(t *testing.T) {
	in := newChromium(t)
	s := newSite(t, nil)
	must(t, s.Store.SetApprovals(t.Context(), "root", string(s.tickets.Fingerprint), 2))
	c := s.window(t, in)
	c.signIn(s, "operator-one")
	c.open("/data-sets/tickets")
	c.do(
		chromedp.Click(chromedp.CSS(`.ask summary`)), chromedp.WaitVisible(chromedp.CSS(`#epsilon`)), chromedp.SendKeys(chromedp.CSS(`#epsilon`), "0.5"),
		chromedp.SendKeys(chromedp.CSS(`#reason`), "examples for the new product"), chromedp.Click(chromedp.CSS(`.ask button.main`)), chromedp.WaitVisible(chromedp.CSS(`.said`)),
	)
	for i, owner := range []string{"owner-one", "owner-two"} {
		c := s.window(t, in)
		c.look(1280, 800, "light")
		c.signIn(s, owner)
		c.open("/data-protection")
		c.picture("grant-" + owner)
		c.do(chromedp.Click(chromedp.CSS(`.request button.main`)), chromedp.WaitVisible(chromedp.CSS(`.said`)))
		if want, got := 2.5+0.5*float64(i), s.allowance(t); got != want {
			t.Errorf("after %s: ε = %v, want %v", owner, got, want)
		}
		c.quiet(owner)
	}
	c.quiet("operator")
}

// TestPlainWithoutScript: pages say all they say without a script.
func TestPlainWithoutScript(t *testing.T) {
	in := newChromium(t)
	s := newSite(t, nil)
	c := s.window(t, in)
	_, err := chromedp.Call(c, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	must(t, err)
	c.signIn(s, "operator-one")
	c.open("/routes")
	c.do(chromedp.Click(chromedp.CSS(`details summary`)), chromedp.Click(saying("button", "Remove it")), chromedp.WaitVisible(chromedp.CSS(`.said`)))
}
