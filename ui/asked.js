// Which question is asked: each has its entry in the tab's history from when it is asked, so that
// Back, a reload and a lost connection lead to it again. In a link it stands behind the #, which
// is never sent to the server.
"use strict";

const arrivalField = "#arrival textarea, #arrival input";
const questionField = "#question textarea, #question input";

// The search that was asked last in this document, as a link tells it.
let asked = null;

// Whether the reader has written since a search began to come back: that is never written over.
let typed = false;

const plain = (link) => new URLSearchParams(link).toString();

const messageShown = () => document.querySelector("#status .message");

const searchShown = () => taken() && taken().link;

function searchMeant() {
  const fragment = location.hash.slice(1);
  if (new URLSearchParams(fragment).has("q")) return plain(fragment);
  return history.state && history.state.search;
}

function searchInFields() {
  const search = new URLSearchParams();
  search.set("q", document.querySelector(questionField).value.trim());
  for (const law of document.querySelectorAll("#laws :checked")) search.append("law", law.name);
  const law = document.querySelector("#law :is(input, textarea)");
  if (law && law.value.trim()) search.set("law", law.value.trim());
  const which = document.querySelector("#which :checked");
  if (which && which.value !== "in force") search.set("which", which.value);
  const day = document.querySelector("#day input");
  if (day && day.value) search.set("day", day.value);
  return search;
}

function remember(search) {
  // What the fields say is asked, and no search that was come back to before.
  write(document.querySelector(arrivalField), "");
  if (!search.get("q")) return;
  asked = search.toString();
  if (asked === searchMeant()) history.replaceState({ search: asked }, "");
  else history.pushState({ search: asked }, "", location.pathname);
}

function write(field, text) {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// Asks what the page's entry in the history says, unless that was asked last.
function arrive(tries) {
  const search = searchMeant();
  if (search && search !== asked) find(search, tries);
}

// Asks a search as a link tells it, and writes it into the fields.
async function find(search, tries) {
  asked = search;
  const box = document.querySelector(arrivalField);
  const question = document.querySelector(questionField);
  const before = searchShown();
  typed = false;
  do {
    while (box.value !== search) {
      write(box, search);
      if (!typed) write(question, new URLSearchParams(search).get("q"));
      await pause(100);
      // Another one was asked meanwhile.
      if (asked !== search) return;
    }
    document.getElementById("arrive").click();
    await pause(1000);
  } while (--tries > 0 && asked === search && searchShown() === before && !messageShown());
}

function goThroughHistory() {
  if (searchMeant()) arrive(1);
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

function followAsking() {
  const question = document.querySelector(questionField);
  question.addEventListener("input", (event) => (typed ||= event.isTrusted));
  // Of the fields only those of text are sent off with Enter.
  const texts = "#asking :is(textarea, input:not([type=checkbox], [type=radio]))";
  const ask = (event) => event.target.closest("#search") && remember(searchInFields());
  document.addEventListener("click", ask, { capture: true });
  const send = (event) => {
    if (event.key !== "Enter" || event.shiftKey || !event.target.matches(texts)) return;
    remember(searchInFields());
  };
  document.addEventListener("keypress", send, { capture: true });
  document.addEventListener("click", keepPlace);
  document.addEventListener("click", openEmpty);
  window.addEventListener("popstate", goThroughHistory);
  // On a phone the keyboard would hide the page.
  const atDesk = matchMedia("(hover: hover) and (min-width: 48rem)").matches;
  if (atDesk && !searchMeant() && document.activeElement === document.body) question.focus();
  // What is written before Gradio has wholly come up is lost; it tells nobody when it has.
  arrive(10);
}

function tryExample(event) {
  const example = event.target.closest(".example");
  if (!example) return;
  const question = example.textContent.trim();
  const compare = () => {
    write(document.querySelector(questionField), question);
    document.getElementById("search").click();
  };
  const ask = () => {
    const search = new URLSearchParams({ q: question });
    remember(search);
    find(search.toString(), 1);
  };
  if (document.getElementById("comparing")) whenDrawn(questionField, compare);
  else whenAskable(ask);
}

// Of the button and the fields Gradio may draw any first. The view Compare has no such button.
const whenAskable = (act) =>
  whenDrawn("#arrive", () => whenDrawn(arrivalField, () => whenDrawn(questionField, act)));

if (document.querySelector("gradio-app")) {
  document.addEventListener("click", tryExample);
  whenAskable(followAsking);
}
