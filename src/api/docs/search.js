// Loads the search index from this site, once.
const box = document.querySelector("search");
const field = box.querySelector("input");
const [status, list] = [box.querySelector("[role=status]"), box.querySelector("ol")];
const MAX_SHOWN = 12;
const EXCERPT_RADIUS = 70;

let loading;
const load = () => {
  loading ??= fetch(box.dataset.index)
    .then((reply) => reply.json())
    .catch((error) => {
      loading = undefined;
      throw error;
    });
  return loading;
};

/** Returns 0 if a word is missing. */
function score([, title, heading, text], words) {
  const [inTitle, inHeading, inText] = [title, heading, text].map((each) => each.toLowerCase());
  let sum = 0;
  for (const word of words) {
    const best = (inTitle.includes(word) && 8) || (inHeading.includes(word) && 6) || (inText.includes(word) && 1);
    if (!best) return 0;
    sum += best;
  }
  // Prefers shorter sections.
  return sum + 1 / (1 + text.length / 500);
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word));
  const from = Math.max(0, at - EXCERPT_RADIUS);
  const to = at + EXCERPT_RADIUS;
  return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
}

async function show() {
  const query = field.value;
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = words.length > 0 ? await load() : [];
  if (field.value !== query) return;
  const found = sections.map((section) => ({ section, score: score(section, words) })).filter((each) => each.score > 0);
  found.sort((a, b) => b.score - a.score);
  status.textContent = words.length === 0 ? "" : `${found.length} found`;
  const root = box.dataset.index.replace("search.json", "");
  list.replaceChildren(
    ...found.slice(0, MAX_SHOWN).map(({ section: [path, title, heading, text] }) => {
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
