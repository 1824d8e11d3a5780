/** Light and dark: as the system has it, until somebody chooses. */

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;

/** The theme that is shown. */
export const theme = () => chosen ?? (dark.matches ? "dark" : "light");

function show() {
  document.documentElement.dataset.theme = theme();
  document.dispatchEvent(new Event("themechange"));
}

/** Follow the system from now on. */
export function followSystem() {
  dark.addEventListener("change", show);
  show();
}

/** Change to the other theme. */
export function toggleTheme() {
  chosen = theme() === "dark" ? "light" : "dark";
  show();
}
