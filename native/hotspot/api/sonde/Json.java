package sonde;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads what a recorder answers; of what is no JSON the rest is left out. */
final class Json {
    private final String text;
    private int at;

    Json(String text) {
        this.text = text;
    }

    /** A Map, a List, a String, a Long, a Double, a Boolean or null. */
    Object read() {
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private char peek() {
        while (at < text.length() && text.charAt(at) <= ' ') {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    /** Whether the next one is this; then it is passed. */
    private boolean is(char wanted) {
        boolean found = peek() == wanted;
        if (found) {
            at++;
        }
        return found;
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        while (peek() == '"') {
            String key = string();
            is(':');
            found.put(key, read());
            if (!is(',')) {
                break;
            }
        }
        is('}');
        return found;
    }

    private List<Object> array() {
        List<Object> found = new ArrayList<>();
        at++;
        while (peek() != ']' && at < text.length()) {
            found.add(read());
            if (!is(',')) {
                break;
            }
        }
        is(']');
        return found;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        at++;
        while (at < text.length() && text.charAt(at) != '"') {
            char c = text.charAt(at++);
            found.append(c == '\\' && at < text.length() ? escaped() : c);
        }
        at++;
        return found.toString();
    }

    private char escaped() {
        char c = text.charAt(at++);
        switch (c) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                int end = Math.min(at + 4, text.length());
                char code = (char) Integer.parseInt(text.substring(at, end), 16);
                at = end;
                return code;
            default:
                return c;
        }
    }

    private Object word() {
        int from = at;
        while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        if (word.equals("true") || word.equals("false")) {
            return word.equals("true");
        }
        if (word.isEmpty() || word.equals("null")) {
            return null;
        }
        boolean whole = word.indexOf('.') < 0 && word.indexOf('e') < 0;
        return whole ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
    }
}
