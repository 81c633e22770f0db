// Light or dark, before anything is drawn: as the reader chose here, or else as the system is.
{
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem("incfed-theme"); } catch { return null; } // a private window
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (dark.matches ? "dark" : "light");
  };
  dark.addEventListener("change", () => { apply(); document.dispatchEvent(new Event("theme")); });
  apply();
}
