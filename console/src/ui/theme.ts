/** Light or dark theme. Default: the system's. */
import { signal } from "@preact/signals";

type Theme = "light" | "dark";

const key = "postern-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const chosen = signal<Theme | undefined>(readKept());
export const theme = signal<Theme>(chosen.value ?? ofSystem());

export function startTheme(): void {
  showTheme();
  system.addEventListener("change", showTheme);
}

export function toggleTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(key, chosen.value);
  } catch {
    // If storage is not available, the choice lasts as long as the page.
  }
  showTheme();
}

function showTheme(): void {
  theme.value = chosen.value ?? ofSystem();
  document.documentElement.dataset["theme"] = theme.value;
}

function ofSystem(): Theme {
  return system.matches ? "dark" : "light";
}

function readKept(): Theme | undefined {
  try {
    const value = localStorage.getItem(key);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined;
  }
}
