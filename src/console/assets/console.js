// Optional: every page works without scripts.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Only where the page asks for the browser's zone: other forms name the zone of their times.
for (const zone of all('input[name="zone"][type="hidden"][value=""]'))
  zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const text = button.closest(".copyable").querySelector("pre").textContent;
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  let live = document.querySelector("#said");
  if (!live) {
    live = Object.assign(document.createElement("p"), { id: "said", className: "aside" });
    live.setAttribute("role", "status");
    document.body.append(live);
  }
  live.textContent = "Copied";
  setTimeout(() => {
    button.textContent = "Copy";
    live.textContent = "";
  }, 2000);
});

// A double click selects a whole key or command.
document.addEventListener("dblclick", ({ target }) => {
  const text = target.closest?.(".copyable pre");
  if (text) getSelection().selectAllChildren(text);
});

// One menu is open at a time, and a click beside it or Escape closes it.
const closeMenus = (except) => {
  for (const menu of all("details.drop[open]")) if (menu !== except) menu.open = false;
};
document.addEventListener("click", ({ target }) => closeMenus(target.closest?.("details.drop")));
document.addEventListener("keydown", ({ key }) => {
  const menu = key === "Escape" && document.querySelector("details.drop[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

const rows = () => all("table[data-rows] tbody tr, table.rows tbody tr").filter((row) => row.querySelector("a"));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  if (event.key === "/") {
    const fields = [...all("[data-search] input, [data-search] select"), ...all("[data-find] input")];
    const search = fields.find((field) => field.checkVisibility());
    if (!search) return;
    event.preventDefault();
    search.closest("details")?.setAttribute("open", "");
    search.focus();
  } else if (event.key === "?") {
    document.querySelector("#keys")?.showModal();
  } else if (event.key === "j" || event.key === "k") {
    const list = rows();
    const at = list.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? list[0] : list[at + (event.key === "j" ? 1 : -1)];
    next?.querySelector("a").focus();
  }
});

for (const form of all('form[method="get"]'))
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });

// In service time, which may run faster than real time.
const twoDigits = (n) => String(n).padStart(2, "0");
const clock = (ms) => {
  const seconds = Math.ceil(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${hours > 0 ? twoDigits(minutes) : minutes}:${twoDigits(seconds % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
};
const seen = new WeakMap();
const count = () => {
  for (const each of all("[data-countdown]")) {
    if (!seen.has(each)) seen.set(each, performance.now());
    const { countdown, rate } = each.dataset;
    const left = countdown - (performance.now() - seen.get(each)) * rate;
    each.textContent = left <= 0 ? "due now" : `in ${clock(left)}`;
  }
};
if (document.querySelector("[data-countdown], [data-live]")) {
  count();
  setInterval(count, 1000);
}

// Live pages reload their content while visible.
const live = document.querySelector("[data-live]");
const still = ({ innerHTML }) => innerHTML.replace(/<span[^>]*data-countdown[^>]*>[^<]*/g, "").replace(/ open=""/g, "");
if (live) {
  setInterval(async () => {
    if (document.hidden || live.contains(document.activeElement) || !getSelection().isCollapsed) return;
    const reply = await fetch(location.href).catch(() => null);
    if (!reply?.ok || reply.redirected) return;
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("[data-live]");
    if (!fresh) return location.reload();
    if (still(fresh) === still(live)) return;
    const open = all("details", live).map((each) => each.open);
    live.replaceChildren(...fresh.childNodes);
    for (const [index, each] of all("details", live).entries()) each.open ||= open[index] ?? false;
    count();
  }, Number(live.dataset.live) * 1000);
}

// The form keeps its file, so that an import can follow a check.
document.addEventListener("change", ({ target }) => {
  if (target.type !== "file") return;
  const isLarge = target.files[0]?.size > Number(target.form.dataset.upload);
  target.setCustomValidity(isLarge ? "This file is too large to upload. Use the command instead." : "");
});
document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (!form.matches("[data-upload]")) return;
  // A button without its own address has the page's address as formAction.
  const url = submitter?.hasAttribute("formaction") ? submitter.formAction : form.action;
  if (url.endsWith(".csv")) return;
  event.preventDefault();
  const [bar, buttons] = [form.querySelector("progress"), all("button", form)];
  const sending = (is) => {
    bar.hidden = !is;
    for (const each of buttons) each.disabled = is;
  };
  const request = new XMLHttpRequest();
  request.upload.onprogress = ({ loaded, total }) => Object.assign(bar, { max: total, value: loaded });
  request.onloadend = () => {
    sending(false);
    const answer = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("#main");
    // Without a response, or after a redirect to the sign-in, the browser loads the page itself.
    if (!answer || request.responseURL !== url) return location.reload();
    answer.querySelector("[data-upload]")?.replaceWith(form);
    document.querySelector("#main").replaceWith(answer);
    answer.focus();
    scrollTo(0, 0);
  };
  request.open("POST", url);
  request.send(new FormData(form));
  sending(true);
});
