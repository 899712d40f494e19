// The slider of the history. Without scripts, the button next to it shows the record.
"use strict";

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("[data-walk]");
  if (form) form.querySelector("output").textContent = event.target.value;
});

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("[data-walk]");
  if (form && event.target.type === "range") form.requestSubmit();
});
