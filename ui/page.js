// What Gradio's components cannot say or do of themselves: which part of the page announces changes,
// where reading goes on after a search, and what a reader takes away. Which question is asked, and
// asked again, is in asked.js.
"use strict";

const words = document.querySelector("header.masthead").dataset;

/* What a reader takes away */

// Where what was pressed only changes its name, that is said here too.
const heard = document.createElement("p");
heard.setAttribute("role", "status");
heard.className = "unseen";
document.querySelector("header.masthead").append(heard);

function button(name, does) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = name;
  made.className = "small";
  made.addEventListener("click", () => does(made));
  return made;
}

async function copy(text, pressed) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS browsers keep the clipboard from scripts, but not from a person's own selection.
    window.prompt(words.copyByHand, text);
    return;
  }
  if (pressed.textContent === words.copied) return;
  const name = pressed.textContent;
  pressed.textContent = heard.textContent = words.copied;
  setTimeout(() => {
    pressed.textContent = name;
    heard.textContent = "";
  }, 2000);
}

function addCopyButtons(part) {
  for (const text of part.querySelectorAll(".copyable:not([hidden])")) {
    // In a result the button is enough.
    text.hidden = text.closest("#results") !== null;
    const name = text.dataset.button || words.copyCitation;
    text.after(button(name, (pressed) => copy(text.textContent, pressed)));
  }
}

function taken() {
  const box = document.querySelector("#taken textarea, #taken input");
  return box && box.value ? JSON.parse(box.value) : null;
}

function save(file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file.content], { type: file.type }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The class of an item has the number of its law, by first appearance.
function groupByLaw(list, pressed) {
  pressed.hidden = true;
  const articles = list.querySelector(".articles");
  const items = [...articles.children];
  const lawOf = (item) => Number(/law-(\d+)/.exec(item.className)[1]);
  items.sort((one, other) => lawOf(one) - lawOf(other));
  let last = null;
  for (const item of items) {
    if (lawOf(item) !== last) {
      const name = document.createElement("li");
      name.className = "law-name";
      name.textContent = item.querySelector(".path a").textContent;
      articles.append(name);
    }
    last = lawOf(item);
    articles.append(item);
  }
}

function linkTo(fragment) {
  return `${location.origin}${location.pathname}#${fragment}`;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[target=_blank]");
  // Gradio opens every link in a new window; our own views stay in this one.
  if (link && link.origin === location.origin) link.removeAttribute("target");
  const language = event.target.closest(".languages a");
  if (language && taken()) language.hash = taken().link;
  const pressed = event.target.closest(".take-away button, button.print");
  if (!pressed) return;
  if (pressed.matches(".print")) window.print();
  else if (pressed.matches(".group")) groupByLaw(pressed.closest(".list"), pressed);
  else if (pressed.matches(".copy-link")) copy(linkTo(taken().link), pressed);
  else {
    const { files } = taken();
    save(files[Object.keys(files).find((each) => pressed.classList.contains(each))]);
  }
});

window.addEventListener("beforeprint", () => {
  const address = document.querySelector("#results .printed .address");
  if (address && taken()) address.textContent = linkTo(taken().link);
});

const pause = (milliseconds) => new Promise((wake) => setTimeout(wake, milliseconds));

/* What to do */

// The last day of a deadline comes into its form; without this script it is a page of its own.
async function countDays(form) {
  const told = form.querySelector(".told");
  told.setAttribute("role", "status");
  const sent = new URLSearchParams(new FormData(form));
  const answer = await fetch(`${form.getAttribute("action")}?${sent}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const counted = page.querySelectorAll(".last-day > p");
  told.replaceChildren(...(counted.length ? counted : page.querySelectorAll(".refusal > p")));
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.deadline");
  if (!form) return;
  event.preventDefault();
  countDays(form).catch(() => form.submit());
});

// The page is out of sight at once and out of the history, even while the other one still loads.
document.addEventListener("click", (event) => {
  const exit = event.target.closest("a.exit");
  if (!exit) return;
  event.preventDefault();
  document.documentElement.hidden = true;
  location.replace(exit.href);
});

/* Reading aloud */

function addReadAloud(parts) {
  if (!window.speechSynthesis) return;
  for (const part of parts) {
    const does = (pressed) => {
      const isReading = pressed.textContent === words.stopReading;
      speechSynthesis.cancel();
      if (!isReading) readAloud(part, pressed);
    };
    const made = button(words.readAloud, does);
    made.classList.add("aloud");
    part.append(made);
  }
}

// One utterance a paragraph: some voices stop in long ones, and each has its own language.
function readAloud(part, pressed) {
  const texts = [...part.querySelectorAll("h1, h2, h3, p, li:not(:has(p))")]
    .filter((each) => each.checkVisibility() && each.textContent.trim());
  pressed.textContent = words.stopReading;
  for (const each of texts) {
    const utterance = new SpeechSynthesisUtterance(each.innerText);
    utterance.lang = each.closest("[lang]").lang;
    if (each === texts.at(-1)) utterance.onend = () => (pressed.textContent = words.readAloud);
    utterance.onerror = () => (pressed.textContent = words.readAloud);
    speechSynthesis.speak(utterance);
  }
}

addEventListener("pagehide", () => window.speechSynthesis?.cancel());

/* The law */

// A question stands behind the #, which is never sent to a server.
function followFinding() {
  const form = document.querySelector("form.find");
  if (!form) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(`${form.dataset.ask}#${searchIn(new FormData(form))}`);
  });
}

// Who came to a paragraph takes its citation and its address away.
function citeParagraph() {
  // The browser marks the target only after this script has first run.
  const named = document.getElementById(location.hash.slice(1));
  const place = named && named.matches(".reading .law p") ? named : null;
  const numbers = place ? place.id.slice(1).match(/\d+[a-z]?(?![a-z])|\d+|[a-z]+/g) : [];
  const [citation, link] = document.querySelectorAll(".keep .copyable");
  if (!citation) return;
  for (const each of [citation, link]) each.dataset.whole ??= each.textContent;
  citation.textContent = citation.dataset.whole + numbers.map((each) => `(${each})`).join("");
  link.textContent = link.dataset.whole + (place ? `#${place.id}` : "");
}

/* A question that got no answer */

// Gradio tells it in a corner, in English, for some seconds. Here it is told where answers are
// awaited, and stays until the next question.
function tellRefusals(status) {
  const refusal = document.createElement("div");
  status.append(refusal);
  const tell = (text) => {
    refusal.className = text ? "message" : "";
    refusal.textContent = text;
  };
  let last = null;
  new MutationObserver(() => {
    const toast = [...document.querySelectorAll(".toast-message-text")].at(-1);
    if (!toast || toast === last) return;
    last = toast;
    const said = toast.textContent.trim();
    tell(JSON.parse(words.refusals).includes(said) ? said : words.unanswered);
  }).observe(document, { childList: true, subtree: true });
  document.addEventListener("submit", (event) => event.target.id === "asking" && tell(""));
}

/* The views that Gradio draws */

function whenDrawn(selector, act) {
  const look = () => {
    const part = document.querySelector(selector);
    if (part) act(part);
    return part;
  };
  if (look()) return;
  const looking = new MutationObserver(() => {
    if (look()) looking.disconnect();
  });
  looking.observe(document, { childList: true, subtree: true });
}

// Gradio's sanitiser takes these attributes away.
function describeTerms(part) {
  for (const [place, term] of part.querySelectorAll(".term").entries()) {
    const definition = term.querySelector(".definition");
    definition.id = `definition-${place}`;
    definition.setAttribute("role", "tooltip");
    term.tabIndex = 0;
    term.setAttribute("role", "button");
    term.setAttribute("aria-describedby", definition.id);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement.matches(".term")) {
    document.activeElement.blur();
  }
});

function followResults(results) {
  let last = null;
  let grew = false;
  const title = document.title;
  new MutationObserver(() => {
    const heading = results.querySelector("h2");
    if (heading === last) return;
    last = heading;
    const name = results.querySelector(".list > h2") ?? heading;
    document.title = heading ? `${name.textContent} · ${title}` : title;
    addCopyButtons(results);
    addReadAloud(results.querySelectorAll(".answer:not(.situations)"));
    describeTerms(results);
    // When a finished answer appears above the articles, do not move a reader who is among them.
    const goesOn = grew;
    grew = results.querySelector(".growing") !== null;
    if (!heading || goesOn) return;
    returnToPlace();
    if (document.activeElement.matches(".example")) heading.focus();
    const first = results.querySelector(".urgent") ?? heading;
    bringIntoSight(document.querySelector("#status .message") ?? first);
  }).observe(results, { childList: true, subtree: true });
}

// A message may come without results.
function followStatus(status) {
  new MutationObserver(() => {
    const message = status.querySelector(".message");
    if (message) bringIntoSight(message);
  }).observe(status, { childList: true, subtree: true });
}

// On a small phone nothing that is in sight would change.
function bringIntoSight(answer) {
  const below = answer.getBoundingClientRect().bottom > innerHeight;
  if (below && askedHere) answer.scrollIntoView();
}

// Who follows a link or comes back reads on elsewhere.
let askedHere = false;
document.addEventListener("submit", (event) => (askedHere ||= event.target.id === "asking"));
addEventListener("popstate", () => (askedHere = false));

// Gradio names the browser's language; the page is in that of its address.
function keepLanguage() {
  const root = document.documentElement;
  const keep = () => {
    if (root.lang !== words.language) root.lang = words.language;
  };
  keep();
  new MutationObserver(keep).observe(root, { attributeFilter: ["lang"] });
}

if (document.querySelector("gradio-app")) {
  keepLanguage();
  // A page has one main part; now it is Gradio's, around the results.
  whenDrawn("gradio-app main", () => document.getElementById("main").removeAttribute("role"));
  whenDrawn("#status", (status) => status.setAttribute("role", "status"));
  whenDrawn("#status", tellRefusals);
  whenDrawn("#status", followStatus);
  whenDrawn("#results", followResults);
} else {
  followFinding();
  citeParagraph();
  window.addEventListener("hashchange", citeParagraph);
  addCopyButtons(document);
  addReadAloud(document.querySelectorAll(".reading > article"));
  describeTerms(document);
}
