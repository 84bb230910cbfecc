import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import sonde.Sonde;
import sonde.Span;

/**
 * Each request is a span, named by its method and route. (Up to Tomcat 9 the package is
 * javax.servlet.)
 *
 * <p>javac -cp "$(sonde doctor --java-api):tomcat-embed-core.jar" SpanFilter.java
 */
public final class SpanFilter implements Filter {
    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        HttpServletRequest asked = (HttpServletRequest) request;
        try (Span span = Sonde.span(asked.getMethod())) {
            chain.doFilter(request, response);
            if (span.isRecorded()) {
                // The route that the server found, not the path: views group by name.
                span.rename(asked.getMethod() + " " + asked.getHttpServletMapping().getPattern());
                span.set("path", asked.getRequestURI());
                span.set("status", ((HttpServletResponse) response).getStatus());
            }
        }
    }
}
