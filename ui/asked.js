// Which question is asked: each has its entry in the tab's history from when it is asked, so that
// Back, a reload and a lost connection lead to it again. In a link it stands behind the #, which
// is never sent to the server.
"use strict";

const asking = document.getElementById("asking");
const linkField = "#link textarea, #link input";

// The search that was asked last in this document, as a link tells it.
let asked = null;

// Whether Gradio has taken a search; it tells nobody when it has come up.
let isUp = false;

const plain = (link) => new URLSearchParams(link).toString();

function searchMeant() {
  const fragment = location.hash.slice(1);
  if (new URLSearchParams(fragment).has("q")) return plain(fragment);
  return history.state && history.state.search;
}

// What the form asks, without what narrows nothing.
function searchIn(sent) {
  const search = new URLSearchParams();
  for (const [name, value] of sent) {
    const text = value.trim();
    if (name === "q" || (text && text !== "in force")) search.append(name, text);
  }
  return search;
}

function remember(search) {
  if (!search.get("q")) return;
  if (plain(search) === searchMeant()) history.replaceState({ search: plain(search) }, "");
  else history.pushState({ search: plain(search) }, "", location.pathname);
}

function fillIn(search) {
  const given = new URLSearchParams(search);
  for (const field of asking.elements) {
    if (field.type === "checkbox") field.checked = given.getAll("law").includes(field.value);
    else if (field.name) field.value = given.get(field.name) ?? "";
    if (field.selectedIndex === -1) field.selectedIndex = 0;
  }
  asking.querySelector("details").open ||= ["law", "which", "day"].some((each) => given.has(each));
}

// Gradio answers what stands in its field when Enter is pressed there.
function send(search) {
  const field = document.querySelector(linkField);
  field.value = search;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new KeyboardEvent("keypress", { key: "Enter", bubbles: true }));
}

// Asks a search as a link tells it; until Gradio has come up, what is sent is lost.
function find(search) {
  asked = search;
  whenDrawn(linkField, async () => {
    do {
      send(search);
      await pause(500);
      isUp ||= document.querySelector("#status .message, #results :is(.pending, h2)") !== null;
    } while (!isUp && asked === search);
  });
}

// Asks what the page's entry in the history says, unless that was asked last.
function arrive() {
  const search = searchMeant();
  if (!search || search === asked) return;
  fillIn(search);
  find(search);
}

function goThroughHistory() {
  if (searchMeant()) arrive();
  // A fragment without a question is a place in the page, where the search is still shown.
  else if (location.hash) history.replaceState({ search: asked }, "");
  // The page was empty here.
  else if (asked) location.reload();
}

function keepPlace(event) {
  const link = event.target.closest("#results a");
  if (!link) return;
  history.replaceState({ ...history.state, opened: link.getAttribute("href") }, "");
}

// Who comes back from a result goes on reading there.
function returnToPlace() {
  const opened = history.state && history.state.opened;
  const links = [...document.querySelectorAll("#results a")];
  const link = links.find((each) => each.getAttribute("href") === opened);
  if (link) link.scrollIntoView({ block: "center" });
}

// A link to the page itself opens it empty, though browsers would keep the entry's search.
function openEmpty(event) {
  const link = event.target.closest(".masthead :is(.name, .views) a");
  const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
  if (!link || elsewhere || link.pathname !== location.pathname) return;
  event.preventDefault();
  history.pushState(null, "", location.pathname);
  location.reload();
}

function followAsking(isCompared) {
  const question = asking.elements.q;
  asking.addEventListener("submit", (event) => {
    event.preventDefault();
    const search = searchIn(new FormData(asking));
    if (!isCompared) remember(search);
    find(plain(search));
  });
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    asking.requestSubmit();
  });
  document.getElementById("examples")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const example = { q: event.submitter.value };
    if (isCompared) question.value = example.q;
    else fillIn(new URLSearchParams(example));
    asking.requestSubmit();
  });
  if (isCompared) return;
  document.addEventListener("click", keepPlace);
  document.addEventListener("click", openEmpty);
  window.addEventListener("popstate", goThroughHistory);
  // On a phone the keyboard would hide the page.
  const atDesk = matchMedia("(hover: hover) and (min-width: 48rem)").matches;
  if (atDesk && !searchMeant() && document.activeElement === document.body) question.focus();
  arrive();
}

if (asking && document.querySelector("gradio-app")) {
  followAsking(asking.dataset.ask === undefined);
} else if (asking) {
  // Who has this script asks on the other page.
  const search = searchIn(new FormData(asking));
  const link = location.search.slice(1) || (search.get("q") && plain(search));
  location.replace(`${asking.dataset.ask}${link ? `#${link}` : ""}`);
}
