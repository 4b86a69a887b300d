// The field of the contents. It asks this site alone, and once: for what all pages say.
const box = document.querySelector("search");
const field = box.querySelector("input");
const [status, list] = [box.querySelector("[role=status]"), box.querySelector("ol")];
const SHOWN = 12;
const AROUND = 70;

let loading;
/** Every part of every page: `[path, title of the page, heading, text]`. */
const load = () => {
  loading ??= fetch(box.dataset.index)
    .then((reply) => reply.json())
    .catch((error) => {
      loading = undefined;
      throw error;
    });
  return loading;
};

/** How well a part fits all the words; 0 when one of them is nowhere in it. */
function fit([, title, heading, text], words) {
  const [inTitle, inHeading, inText] = [title, heading, text].map((each) => each.toLowerCase());
  let sum = 0;
  for (const word of words) {
    const best = (inTitle.includes(word) && 8) || (inHeading.includes(word) && 6) || (inText.includes(word) && 1);
    if (!best) return 0;
    sum += best;
  }
  // Of two parts the shorter one is more about it.
  return sum + 1 / (1 + text.length / 500);
}

/** The words around the first that was found. */
function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word));
  const from = Math.max(0, at - AROUND);
  return `${from > 0 ? "…" : ""}${text.slice(from, at + AROUND)}${at + AROUND < text.length ? "…" : ""}`;
}

async function show() {
  const asked = field.value;
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const parts = words.length > 0 ? await load() : [];
  if (field.value !== asked) return;
  const found = parts.map((part) => ({ part, fit: fit(part, words) })).filter((each) => each.fit > 0);
  found.sort((a, b) => b.fit - a.fit);
  status.textContent = words.length === 0 ? "" : `${found.length} found`;
  const root = box.dataset.index.replace("search.json", "");
  list.replaceChildren(
    ...found.slice(0, SHOWN).map(({ part: [path, title, heading, text] }) => {
      const [item, link, about] = ["li", "a", "small"].map((name) => document.createElement(name));
      link.href = root + path;
      link.textContent = heading ? `${title}: ${heading}` : title;
      about.textContent = excerpt(text, words[0]);
      item.append(link, about);
      return item;
    }),
  );
}

box.hidden = false;
field.addEventListener("focus", load, { once: true });
field.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === field || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});
