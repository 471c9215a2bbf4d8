// Keeps pages and plans up to date, and copies a new key. Pages work without it.
"use strict";

(() => {
  // refresh gets the page again and puts its live parts in place of those shown. What somebody
  // is about to use stays. A change while it is under way has it go once more.
  let busy = false;
  let again = false;
  async function refresh() {
    const parts = document.querySelectorAll("[data-live]");
    if (parts.length === 0 || document.hidden) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    again = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts) {
        const fresh = page.getElementById(part.id);
        if (fresh && !part.contains(document.activeElement)) part.replaceChildren(...fresh.childNodes);
      }
    } catch {
      // The next change, or the next look, tries again.
    } finally {
      busy = false;
      if (again) refresh();
    }
  }

  if (document.querySelector("[data-live]")) {
    let polling = null;
    const poll = () => { polling ??= setInterval(refresh, 5000); };
    if (window.EventSource) {
      const source = new EventSource("/events");
      source.addEventListener("changed", refresh);
      source.addEventListener("open", () => { clearInterval(polling); polling = null; });
      source.addEventListener("error", poll);
      addEventListener("pagehide", () => source.close());
    } else {
      poll();
    }
    document.addEventListener("visibilitychange", refresh);
  }

  // A form with a plan shows the one that belongs to what it says, while somebody writes.
  for (const form of document.querySelectorAll("form[data-plan]")) {
    let waiting = null, latest = 0;
    async function replan(reload) {
      const asked = ++latest;
      const fields = new FormData(form);
      fields.delete("token");
      fields.delete("plan");
      const at = form.action + "?" + new URLSearchParams(fields);
      if (reload) { location.assign(at); return; }
      const shown = document.getElementById(form.dataset.plan);
      shown.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(at, { headers: { Accept: "text/html" } });
        if (!answer.ok || answer.redirected) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById(shown.id);
        if (fresh && asked === latest) {
          shown.replaceChildren(...fresh.childNodes);
          history.replaceState(null, "", at);
        }
      } catch {
        // What somebody writes next tries again.
      } finally {
        if (asked === latest) shown.removeAttribute("aria-busy");
      }
    }
    form.addEventListener("input", (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => replan(event.target.hasAttribute("data-reload")), 300);
    });
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
})();
