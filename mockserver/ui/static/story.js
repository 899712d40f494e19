// Zoom and drag of the waterfall. Without scripts, the links next to the heading do the
// same. The window is in the address.
"use strict";

const waterfall = {
  least: 0.0001, // smallest window as a part of the axis: minZoom of the server

  rows() {
    return document.querySelector("[data-fall]");
  },

  // shown returns the window, as parts of the axis from 0 to 1.
  shown() {
    const [from, to] = (new URLSearchParams(location.search).get("zoom") ?? "").split("-").map(Number);
    return to > from && from >= 0 && to <= 1 ? { from, to } : { from: 0, to: 1 };
  },

  // move sets the window in the pictures and in the address.
  move(from, to) {
    const length = Math.min(1, Math.max(this.least, to - from));
    from = Math.min(Math.max(0, from), 1 - length);
    to = from + length;
    const here = new URL(location.href);
    if (length >= 1) here.searchParams.delete("zoom");
    else here.searchParams.set("zoom", `${from.toFixed(5)}-${to.toFixed(5)}`);
    history.replaceState(history.state, "", here);
    const rows = this.rows();
    for (const picture of rows.querySelectorAll("svg.bars")) picture.setAttribute("viewBox", `${from * 1000} 0 ${length * 1000} 18`);
    for (const link of rows.querySelectorAll("a[data-step]")) {
      const to = new URL(link.href);
      if (here.searchParams.has("zoom")) to.searchParams.set("zoom", here.searchParams.get("zoom"));
      else to.searchParams.delete("zoom");
      link.href = to;
    }
    this.label(rows, from * 1000, length * 1000);
  },

  // label writes the times of the window.
  label(rows, from, length) {
    const corners = JSON.parse(rows.dataset.fall);
    const texts = [...rows.querySelectorAll(".ticks text")];
    const times = texts.map((_, i) => this.at(corners, from + (length * i) / Math.max(1, texts.length - 1)));
    const gap = Math.min(...times.slice(1).map((at, i) => at - times[i]));
    texts.forEach((text, i) => (text.textContent = "+" + tickText(times[i], gap)));
    spaceTicks();
  },

  // at returns the time at a position on the axis, in ms since the start.
  at(corners, x) {
    const next = Math.max(1, corners.findIndex(([, at]) => at >= x - 1e-9));
    const [[t0, x0], [t1, x1]] = [corners[next - 1], corners[next] ?? corners[next - 1]];
    return x1 > x0 ? t0 + ((t1 - t0) * (x - x0)) / (x1 - x0) : t1;
  },
};

// spaceTicks hides times of the axis that would overlap others. The ends have priority,
// then the middle.
function spaceTicks() {
  for (const axis of document.querySelectorAll("svg.ticks")) {
    const texts = [...axis.querySelectorAll("text")];
    for (const text of texts) text.classList.remove("crowded");
    const kept = [];
    for (const text of [0, 4, 2, 1, 3].map((i) => texts[i]).filter((t) => t?.checkVisibility())) {
      const { left, right } = text.getBoundingClientRect();
      const crowded = kept.some((other) => left < other.right + 8 && right > other.left - 8);
      text.classList.toggle("crowded", crowded);
      if (!crowded) kept.push({ left, right });
    }
  }
}

const tickUnits = [["d", 86400000], ["h", 3600000], ["m", 60000], ["s", 1000], ["ms", 1]];

// tickText formats a time on the axis, precise enough to differ from the next one, in the
// same way as the server.
function tickText(ms, gap) {
  const [, exact] = tickUnits.find(([, length]) => gap / 2 >= length) ?? ["ms", 1];
  ms = Math.round(ms / exact) * exact;
  const parts = [];
  for (const [unit, length] of tickUnits) {
    const n = Math.floor(ms / length);
    if (n > 0) parts.push(`${n} ${unit}`);
    ms -= n * length;
  }
  return parts.join(" ") || "0";
}

// Links to another part of a run keep the scroll position. On narrow screens the details of
// a step are below the rows, so the page scrolls to them.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-stay]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const address = new URL(link.href);
  address.hash = "";
  history.pushState(history.state, "", address);
  const answer = await fetch(address, { headers: { Follow: "true" } });
  const text = await answer.text();
  if (address.href !== location.href) return;
  const steps = "step" in link.dataset;
  await htmx.swap({ text, target: document.querySelector("#live"), select: "#live", swap: "outerMorph", sourceElement: document.body });
  const pane = document.querySelector("#pane");
  if (steps && pane && pane.getBoundingClientRect().top > innerHeight * 0.8) pane.scrollIntoView({ behavior: "smooth", block: "nearest" });
});

// The wheel zooms only with Ctrl, which a pinch on a touchpad also reports, so that the page
// still scrolls.
document.addEventListener("wheel", (event) => {
  const picture = event.target.closest?.("svg.bars");
  if (!picture || !event.ctrlKey) return;
  event.preventDefault();
  const box = picture.getBoundingClientRect();
  const { from, to } = waterfall.shown();
  const at = from + ((to - from) * (event.clientX - box.left)) / box.width;
  const factor = event.deltaY > 0 ? 1.25 : 0.8;
  waterfall.move(at - (at - from) * factor, at + (to - at) * factor);
}, { passive: false });

let drag = null;

document.addEventListener("pointerdown", (event) => {
  const picture = event.target.closest?.("svg.bars");
  if (picture && event.button === 0) drag = { picture, x: event.clientX, width: picture.getBoundingClientRect().width, moved: false, ...waterfall.shown() };
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const by = event.clientX - drag.x;
  if (!drag.moved && Math.abs(by) < 4) return;
  drag.moved = true;
  drag.picture.classList.add("dragged");
  const shift = ((drag.to - drag.from) * by) / drag.width;
  waterfall.move(drag.from - shift, drag.to - shift);
});

const dropped = () => {
  drag?.picture.classList.remove("dragged");
  const moved = drag?.moved;
  drag = null;
  return moved;
};

// A drag ends with a click on its row, which must not open the step.
document.addEventListener("pointerup", () => {
  if (dropped()) addEventListener("click", (event) => { event.preventDefault(); event.stopPropagation(); }, { capture: true, once: true });
});
document.addEventListener("pointercancel", dropped);
document.addEventListener("dragstart", (event) => { if (event.target.closest?.("a.step")) event.preventDefault(); });
