// Makes plain text of the words of code that nobody judges: axe asks every element for its place and whether it is seen,
// and a page of code has tens of thousands that say no more than their colour.
(mark) => {
    const look = (element) => { const { color, backgroundColor, font } = getComputedStyle(element); return [color, backgroundColor, font].join(); };
    const judged = [...document.querySelectorAll(`pre [${mark}]`)], looks = judged.map(look);
    for (const word of document.querySelectorAll(`pre span:not([${mark}])`)) {
        const plain = !word.firstElementChild && [...word.attributes].every((each) => each.name === "class");
        if (plain) word.replaceWith(...word.childNodes);
    }
    document.querySelectorAll("pre").forEach((code) => code.normalize());
    const other = judged.find((element, number) => look(element) !== looks[number]);
    if (other) throw new Error(`looks otherwise without the words before it: ${other.outerHTML}`);
}
