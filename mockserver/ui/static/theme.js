// Runs before the first paint: a theme that was chosen wins over the system's.
const chosen = localStorage.getItem("understudy-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
