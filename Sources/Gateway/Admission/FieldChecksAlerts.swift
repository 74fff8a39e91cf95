import JSON

extension FieldChecks {
    /// Most languages of one text.
    package static let languageCount = 50

    /// Reads a text by language: an object of strings with a non-blank `en`.
    ///
    /// Languages that are null or blank count as absent. Nil when the field is absent or wrong.
    package mutating func localizedText(_ key: String, isRequired: Bool) -> LocalizedText? {
        guard let value = present(key) else {
            if isRequired { report(key, .missing) }
            return nil
        }
        guard value.kind == .object else {
            report(key, .wrongKind(expected: "an object of texts by language"))
            return nil
        }
        let members = value.lastMembers
        guard members.count <= Self.languageCount else {
            report(key, .tooMany(actual: members.count, limit: Self.languageCount))
            return nil
        }
        if value["en"].map(\.isNull) ?? true { report("\(key).en", .missing) }
        var texts = LocalizedText()
        for (language, value) in members where !value.isNull {
            let path = "\(key).\(FieldError.shortened(language))"
            guard checked(value, at: path, { (_) throws(FieldProblem) in try FieldRule.language(language) }) != nil,
                let text = checked(value, at: path, FieldRule.string)
            else { continue }
            guard !FieldRule.isBlank(text) else {
                if language == "en" { report(path, .blank) }
                continue
            }
            texts.set(text, for: language)
        }
        return texts
    }
}

/// A text in several languages; tags are compared without regard to case.
package struct LocalizedText {
    /// The tag as it was spelt and the text, by the tag in lower case.
    private var texts: [String: (language: String, text: String)] = [:]
    /// No text yet.
    package init() {}

    /// Sets one language's text; `en` as such goes before other spellings of it.
    package mutating func set(_ text: String, for language: String) {
        let key = language.lowercased()
        guard texts[key]?.language != "en" || language == "en" else { return }
        texts[key] = (language, text)
    }
    /// The text of a language; nil when there is none.
    package subscript(language: String) -> String? { texts[language.lowercased()]?.text }
    /// The languages as they were spelt.
    package var languages: [String] { texts.values.map(\.language) }

    /// The alerts that titles and bodies make together, `en` first.
    ///
    /// A language that only one of them has takes the other part in English. Without titles there is no alert, for
    /// iOS shows none without a title.
    package static func alerts(titles: LocalizedText?, bodies: LocalizedText?) -> [LocalizedAlert] {
        guard let titles, let english = titles["en"] else { return [] }
        var spellings = (bodies ?? LocalizedText()).texts
        spellings.merge(titles.texts) { $1 }
        spellings["en"] = nil
        let languages = ["en"] + spellings.values.map(\.language).sorted()
        return languages.map { language in
            LocalizedAlert(
                language: language, title: titles[language] ?? english, body: bodies?[language] ?? bodies?["en"])
        }
    }
}
