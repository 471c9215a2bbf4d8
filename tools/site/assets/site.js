"use strict";
(function () {
  const up = document.body.dataset.up;
  const byId = (id) => document.getElementById(id);

  // Light or dark: the system's choice until the button is used.
  byId("theme").onclick = function () {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("sotto-theme", root.dataset.theme); } catch (e) { /* a page from a file may not */ }
  };

  byId("menu").onclick = function () {
    this.setAttribute("aria-expanded", String(byId("nav").classList.toggle("open")));
  };
  const here = document.querySelector("nav [aria-current]");
  if (here && here.offsetTop > byId("nav").clientHeight) byId("nav").scrollTop = here.offsetTop - 200;

  for (const h of document.querySelectorAll("main h2[id], main h3[id]")) {
    const a = document.createElement("a");
    a.className = "to";
    a.href = "#" + h.id;
    a.textContent = "#";
    a.setAttribute("aria-label", "Link to " + h.textContent);
    h.append(a);
  }

  // Copying a block takes its commands, without prompts and what they print.
  for (const pre of document.querySelectorAll("main pre")) {
    const box = document.createElement("div");
    box.className = "code";
    pre.replaceWith(box);
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.onclick = function () {
      const commands = [...pre.querySelectorAll("b")].map((b) => b.textContent.replace(/^\$ /, "")).join("");
      navigator.clipboard.writeText(commands || pre.textContent).then(() => { button.textContent = "Copied"; });
    };
    box.append(pre, button);
  }

  // Tables, code and pictures that continue to the right say so.
  const sides = [...document.querySelectorAll("main pre, main .wide, main p:has(> img.drawn:only-child)")];
  const side = (e) => e.parentElement.classList.toggle("more", e.scrollLeft + e.clientWidth < e.scrollWidth - 2);
  const resized = new ResizeObserver((all) => all.forEach((one) => side(one.target)));
  for (const e of sides) {
    if (!e.matches("pre")) {
      const box = document.createElement("div");
      box.className = "box";
      e.replaceWith(box);
      box.append(e);
    }
    e.addEventListener("scroll", () => side(e), { passive: true });
    resized.observe(e);
  }

  // The heading that is being read.
  const links = new Map([...document.querySelectorAll("aside a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  const seen = new IntersectionObserver(function (entries) {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      for (const a of links.values()) a.classList.remove("at");
      links.get(e.target.id).classList.add("at");
    }
  }, { rootMargin: "-70px 0px -70% 0px" });
  for (const id of links.keys()) { const h = byId(id); if (h) seen.observe(h); }

  // Search: every word has to occur; titles count most, then headings, then text.
  const input = byId("search"), list = byId("found");
  const fold = (s) => s.toLowerCase().replaceAll("ε", "epsilon").replaceAll("δ", "delta");
  let pages = null, at = -1;
  function prepare() {
    pages = pages || window.sottoIndex.map((s) => ({ s, page: fold(s.p), heading: fold(s.h), text: fold(s.t), rest: fold(s.r || "") }));
  }
  function weigh(entry, words) {
    let sum = 0;
    for (const w of words) {
      const start = (s) => s.startsWith(w) || s.includes(" " + w) || s.includes("-" + w);
      let n = 0;
      if (start(entry.page)) n += entry.heading ? 6 : 14; else if (entry.page.includes(w)) n += 2;
      if (start(entry.heading)) n += 10; else if (entry.heading.includes(w)) n += 3;
      if (start(entry.text)) n += 2 + Math.min(3, entry.text.split(w).length - 1); else if (start(entry.rest)) n += 2; else if (entry.text.includes(w) || entry.rest.includes(w)) n += 1;
      if (n === 0) return 0;
      sum += n;
    }
    return sum;
  }
  function show() {
    prepare();
    const words = fold(input.value).split(/\s+/).filter(Boolean);
    at = -1;
    list.replaceChildren();
    list.hidden = words.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (list.hidden) return;
    const hits = pages.map((e) => ({ e, n: weigh(e, words) })).filter((h) => h.n > 0).sort((a, b) => b.n - a.n).slice(0, 12);
    for (const { e } of hits) {
      const li = document.createElement("li"), a = document.createElement("a");
      const title = document.createElement("b"), text = document.createElement("small");
      a.href = up + e.s.u;
      a.setAttribute("role", "option");
      title.append(e.s.h || e.s.p);
      if (e.s.h) { const of = document.createElement("span"); of.textContent = "  " + e.s.p; title.append(of); }
      excerpt(text, e, words);
      a.append(title, text);
      li.append(a);
      list.append(li);
    }
    if (hits.length === 0) {
      const li = document.createElement("li");
      li.className = "none";
      li.textContent = "No page has all of these words.";
      list.append(li);
    }
  }
  function excerpt(to, entry, words) {
    const text = entry.s.t, low = text.toLowerCase();
    const first = words.map((w) => low.indexOf(w)).filter((i) => i >= 0);
    const from = Math.max(0, (first.length ? Math.min(...first) : 0) - 60);
    // Of a long section the search knows the words below its beginning, not the sentences.
    const below = (entry.s.r || "").split(" ").filter((r) => words.some((w) => !low.includes(w) && fold(r).includes(w))).slice(0, 3);
    const part = below.map((r) => r + " … ").join("") + (from > 0 && below.length === 0 ? "… " : "") + text.slice(from, from + 180);
    const pattern = new RegExp("(" + words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
    part.split(pattern).forEach(function (piece, i) {
      if (i % 2) { const m = document.createElement("mark"); m.textContent = piece; to.append(m); } else to.append(piece);
    });
  }
  function move(by) {
    const all = [...list.querySelectorAll("a")];
    if (all.length === 0) return;
    at = (at + by + all.length) % all.length;
    all.forEach((a, i) => a.setAttribute("aria-selected", String(i === at)));
    all[at].scrollIntoView({ block: "nearest" });
  }
  input.addEventListener("input", show);
  input.addEventListener("keydown", function (e) {
    const all = list.querySelectorAll("a");
    if (e.key === "ArrowDown") { move(1); e.preventDefault(); }
    if (e.key === "ArrowUp") { move(-1); e.preventDefault(); }
    if (e.key === "Enter" && all.length) location.href = all[Math.max(0, at)].href;
    if (e.key === "Escape") { input.value = ""; show(); input.blur(); }
  });
  list.addEventListener("click", function () { list.hidden = true; });
  document.addEventListener("click", function (e) { if (!e.target.closest(".search")) list.hidden = true; });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) { input.focus(); e.preventDefault(); }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) { input.value = asked; show(); }
})();
