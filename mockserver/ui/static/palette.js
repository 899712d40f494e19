// The command palette (Ctrl-K): every view, action, page of the help, and everything that the
// search of the server finds.
"use strict";

// Actions whose buttons are in another view.
const distantActions = [["Publish message", "messages"], ["Trigger run", "runs"], ["Cancel waiting messages", "messages"], ["Retry or delete DLQ entries", "dlq"], ["Pause, pin or reset a flow key", "flow"], ["Create queue", "queues"], ["Create URL group", "groups"], ["Create schedule", "schedules"], ["Reset rate limits", "limits"], ["Add stub", "stubs"], ["Add fault", "stubs"], ["Add rewrite", "stubs"], ["Clear requests", "requests"], ["Create search index", "indexes"], ["Empty vector index", "indexes"], ["Reset account", "now"], ["Undo", "now"]];

const palette = {
  help: null, // [title, address] of the pages of the help, once they are loaded
  found: [],
  asked: 0,

  open() {
    if (!find("#palette")) {
      document.body.insertAdjacentHTML("beforeend", '<dialog id="palette" aria-label="Search or jump to"><input type="text" role="combobox" aria-expanded="true" aria-controls="choices" aria-autocomplete="list" aria-label="Search or jump to" placeholder="View, action, help, ID or text" autocomplete="off" spellcheck="false"><ul id="choices" role="listbox" aria-label="Choices"></ul></dialog>');
      find("#palette input").addEventListener("input", () => this.ask());
      find("#palette").addEventListener("keydown", (event) => this.key(event));
      find("#palette").addEventListener("click", ({ target }) => {
        const choice = target.closest("li[role=option]");
        if (choice) this.go(choice);
        else if (target.id === "palette") target.close();
      });
      find("#palette").addEventListener("close", () => this.from?.focus());
    }
    this.from = document.activeElement;
    find("#palette").showModal();
    find("#palette input").value = "";
    this.found = [];
    this.show();
    this.loadHelp();
  },

  async loadHelp() {
    if (this.help) return;
    this.help = [];
    const page = new DOMParser().parseFromString(await (await fetch("/_understudy/docs/")).text(), "text/html");
    const links = [...page.querySelectorAll('nav a[href^="/_understudy/docs/"]')].map((a) => [a.textContent.trim(), a.getAttribute("href")]);
    this.help = [...new Map(links.map((link) => [link[1], link])).values()];
    this.show();
  },

  // choices are [group, title, detail, what it does: an address or a function].
  choices() {
    const list = [];
    const link = (view) => find(`#side nav a[data-key][href*="/ui/${view}"]`)?.href ?? find("#side nav a").href;
    const here = [...document.querySelectorAll("#view :is(button, a.button, .head details > summary), #top button")].filter((b) => !b.closest(".jump, tbody, .notices, .tools, .filter, #picked, .rules") && (b.checkVisibility() || b.closest(".menu")));
    for (const a of document.querySelectorAll("#side nav a")) list.push(["Views", a.querySelector("span").textContent, a.dataset.key ? `g ${a.dataset.key}` : "", a.href]);
    for (const button of here) list.push(["Actions", (button.dataset.copyText ? button.ariaLabel : button.textContent.trim()) || button.ariaLabel || "", button.title === button.textContent ? "" : button.title, () => { button.click(); if (button.matches("summary")) button.parentElement.querySelector("input:not([type=hidden])")?.focus(); }]);
    for (const button of document.querySelectorAll(".foot button")) list.push(["Actions", button.ariaLabel ?? button.title, "", () => button.click()]);
    for (const [title, view] of distantActions) if (!list.some(([, t]) => t === title)) list.push(["Actions", title, "", link(view)]);
    for (const option of document.querySelectorAll("#account option")) list.push(["Accounts", option.value, "Switch account", "/_understudy/?account=" + encodeURIComponent(option.value)]);
    for (const [title, address] of this.help ?? []) list.push(["Help", title, "", address]);
    return list;
  },

  // ask asks the server for objects, and shows the choices at once.
  async ask() {
    this.show();
    const words = find("#palette input").value.trim();
    const asked = ++this.asked;
    await new Promise((done) => setTimeout(done, 120));
    if (asked !== this.asked) return;
    this.found = [];
    if (words) {
      const account = encodeURIComponent(find("#live").dataset.account);
      const answers = await Promise.all([words, ...(/^[\w.-]+$/.test(words) ? ["id:" + words, "run:" + words] : [])].map(async (q) => (await fetch(`/_understudy/search?account=${account}&q=${encodeURIComponent(q)}`)).json()));
      if (asked !== this.asked) return;
      const lines = new Map(); // one for a run with its messages, in the order of the search
      const failed = ({ state }) => /FAILED/.test(state);
      for (const hit of answers.flatMap((answer) => answer.hits ?? []).sort((a, b) => failed(b) - failed(a))) {
        const [view, id] = hit.workflowRunId ? ["runs", hit.workflowRunId] : hit.kind === "dlq" ? ["dlq", hit.dlqId] : ["messages", hit.messageId ?? hit.id];
        const line = lines.get(view + id) ?? { view, id, hit, messages: new Set() };
        if (hit.kind === "message" && view === "runs") line.messages.add(hit.id);
        if (id) lines.set(view + id, line);
      }
      for (const { view, id, hit, messages } of [...lines.values()].slice(0, 12)) {
        const { before, found, after } = hit.excerpt ?? {};
        const place = hit.excerpt ? `${hit.place}: ${before}${found}${after}` : "";
        const more = messages.size > 0 ? `with ${messages.size} ${messages.size === 1 ? "message" : "messages"}` : "";
        this.found.push([{ dlq: "DLQ", runs: "Runs", messages: "Messages" }[view], hit.url?.replace(/^\w+:\/\//, "") || id, [(hit.state ?? "").toLowerCase().replace(/^run_/, ""), id, more, place].filter(Boolean).join(" · "), `/_understudy/ui/${view}/${encodeURIComponent(id)}?account=${account}`]);
      }
    }
    this.show();
  },

  show() {
    const words = find("#palette input").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ([group, title, detail]) => words.every((word) => `${group} ${title} ${detail}`.toLowerCase().includes(word));
    const most = words.length > 0 ? 8 : 40;
    const list = [];
    const counts = {};
    for (const choice of this.choices()) {
      if (!choice[1] || !fits(choice) || (counts[choice[0]] ?? 0) >= most) continue;
      counts[choice[0]] = (counts[choice[0]] ?? 0) + 1;
      list.push(choice);
    }
    list.push(...this.found);
    const box = find("#choices");
    box.replaceChildren();
    let group = "";
    list.forEach(([kind, title, detail, does], i) => {
      const line = document.createElement("li");
      line.setAttribute("role", "option");
      line.id = `choice-${i}`;
      line.setAttribute("aria-selected", String(i === 0));
      for (const [name, text] of [["kind", kind === group ? "" : kind], ["cut", title], ["faint", detail]]) {
        const part = document.createElement("span");
        part.className = name;
        part.textContent = text;
        line.append(part);
      }
      line.does = does;
      group = kind;
      box.append(line);
    });
    find("#palette input").setAttribute("aria-activedescendant", list.length > 0 ? "choice-0" : "");
  },

  key(event) {
    const lines = [...document.querySelectorAll("#choices [role=option]")];
    const at = lines.findIndex((line) => line.ariaSelected === "true");
    if (event.key === "Enter") {
      event.preventDefault();
      if (lines[at]) this.go(lines[at]);
    }
    const step = { ArrowDown: 1, ArrowUp: -1, Tab: event.shiftKey ? -1 : 1 }[event.key];
    if (!step || lines.length === 0) return;
    event.preventDefault();
    const next = lines[(at + step + lines.length) % lines.length];
    lines[at].ariaSelected = "false";
    next.ariaSelected = "true";
    next.scrollIntoView({ block: "nearest" });
    find("#palette input").setAttribute("aria-activedescendant", next.id);
  },

  go(line) {
    this.from = null;
    find("#palette").close();
    if (typeof line.does === "function") line.does();
    else location.assign(line.does);
  },
};

document.addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || find("dialog[open]")) return;
  event.preventDefault();
  palette.open();
});
