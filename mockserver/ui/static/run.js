// The view of a run: its parts open without a new page, and keys work on its rows.
"use strict";

// Links to another part of a run keep the scroll position. An opened step gets the focus, and
// gives it back to its row when it is closed.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-stay]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const row = "close" in link.dataset ? document.querySelector("a.step[aria-current]")?.closest("li").id : null;
  const address = new URL(link.href);
  address.hash = "";
  history.pushState(history.state, "", address);
  const answer = await fetch(address, { headers: { Follow: "true" } });
  const text = await answer.text();
  if (address.href !== location.href) return;
  await htmx.swap({ text, target: document.querySelector("#live"), select: "#live", swap: "outerMorph", sourceElement: document.body });
  showPrefs();
  if (row) document.querySelector(`#${CSS.escape(row)} a`)?.focus({ preventScroll: true });
  else document.querySelector("#pane")?.focus({ preventScroll: true });
});

// fold opens or closes the fork of the focused row.
function fold(open) {
  const fork = document.activeElement.closest(".branch details");
  if (!fork) return;
  fork.open = open;
  if (!open) fork.querySelector("summary").focus();
}

Object.assign(keys, {
  h: () => fold(false),
  l: () => fold(true),
  r: () => document.querySelector("[data-press=r]")?.click(),
  Escape: () => document.querySelector("[data-close]")?.click(),
});
